import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { Gateway, type Fault } from '../test/gateway.ts';
import { PetStoreError } from './index.ts';
import { backoffMsMax, parseRetryAfter } from './request.ts';

const REX = { name: 'Rex', categoryId: 7 };
const PAGE = '<html>Welcome to the hotel network</html>';
const MIB = 1024 * 1024;
const CREATES = 60;

let service: TestService;
let gateway: Gateway;
before(async () => {
  service = await startTestService(sqliteStorage);
});
after(() => service.close());
beforeEach(async (t) => {
  gateway = await Gateway.open(t as TestContext, service);
});

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

/** The ids of the newest animals. */
async function newest(count: number): Promise<bigint[]> {
  const pets = await gateway.client().pets.list().toReversed().toArray({ max: count });
  return pets.map(({ id }) => id).toReversed();
}

test('with every second response lost, 60 creates make exactly 60 animals', async () => {
  const faults: Fault[] = ['lose_response', 'cut_short', 'lose_request', 'half_json'];
  gateway.fault = ({ number }) =>
    number % 2 === 0 ? faults[(number / 2) % faults.length] : undefined;
  // Which of ten concurrent creates fails is random. Forty retries are enough for all.
  const { pets } = gateway.client({ retries: 40 });
  const waiting = Array.from({ length: CREATES }, (_, index) => `Animal ${index % 20}`);
  const created: bigint[] = [];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      created.push((await pets.create({ name, categoryId: 1 })).id);
    }
  };
  await Promise.all(Array.from({ length: 10 }, worker));
  assert.ok(gateway.requests.length >= 2 * CREATES - 10, `${gateway.requests.length} requests`);
  assert.equal(new Set(created).size, CREATES);
  assert.deepEqual(new Set(await newest(CREATES + 1)), new Set(created));
});

for (const fault of [
  'lose_request',
  'lose_response',
  'cut_short',
  'half_json',
  { status: 201, body: PAGE },
  { status: 503 },
  { status: 429, code: 'rate_limited' },
  { status: 502, body: '<html>Bad Gateway</html>' },
] satisfies Fault[]) {
  test(`a create succeeds after two times ${JSON.stringify(fault)}, with one key and one animal`, async () => {
    const [last = 0n] = await newest(1);
    gateway.requests.length = 0;
    gateway.failFirst(2, fault);
    const { id } = await gateway.client().pets.create(REX);
    const keys = gateway.requests.map(({ headers }) => headers['idempotency-key']);
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    assert.deepEqual([id, ...(await newest(1))], [last + 1n, last + 1n]);
  });
}

test('the delay of Retry-After is respected, in seconds and as a date', async () => {
  gateway.failFirst(1, { status: 503, code: 'overloaded', headers: { 'Retry-After': '1' } });
  const start = performance.now();
  await gateway.client().pets.create(REX);
  // A timer may fire slightly early.
  assert.ok(performance.now() - start >= 990);
  assert.equal(gateway.requests.length, 2);

  const now = Date.parse('Thu, 05 Dec 2030 00:00:00 GMT');
  for (const [text, delayMs] of [
    ['Thu, 05 Dec 2030 00:01:00 GMT', 60_000],
    ['Wed, 04 Dec 2030 00:00:00 GMT', 0],
    ['05 Dec 2030 00:01 +0000', 60_000],
    ['120', 120_000],
    ['soon', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(parseRetryAfter(text, now), delayMs, text);
  }
});

test('the longest delay doubles with every attempt, up to 10 seconds', () => {
  const delays = [0, 1, 5, 6, 2000].map((attempt) => backoffMsMax(200, attempt));
  assert.deepEqual(delays, [200, 400, 6400, 10_000, 10_000]);
  // 2 to this power is Infinity, and 0 times it would be no number.
  assert.equal(backoffMsMax(0, 1_025), 0);
});

test('retries stop at the maximum, and the error is the last response', async () => {
  gateway.fault = () => ({ status: 503, code: 'overloaded' });
  await assert.rejects(gateway.client({ retries: 3 }).pets.create(REX), {
    name: 'PetStoreError',
    code: 'overloaded',
    status: 503,
    message: 'On purpose.',
    requestId: 'request-4',
  });
  assert.equal(gateway.requests.length, 4);
});

test('a delay longer than the total timeout is not started', async () => {
  gateway.fault = () => ({ status: 429, code: 'limited', headers: { 'Retry-After': '3600' } });
  const limited = { code: 'limited', retryAfterMs: 3_600_000 };
  await assert.rejects(gateway.client().pets.create(REX), limited);
  assert.equal(gateway.requests.length, 1);
});

const ERROR = '{"code":"a_later_code","message":"No."}';

/** How many requests a call sends that may be repeated once. */
const RESPONSES: [status: number, body: string, code: string, requests: number][] = [
  // Only what a retry can solve is repeated.
  ...[400, 401, 403, 404, 410, 422, 500, 501].map((status): [number, string, string, number] => [
    status,
    ERROR,
    'a_later_code',
    1,
  ]),
  [429, ERROR, 'a_later_code', 2],
  [503, ERROR, 'a_later_code', 2],
  // What cannot be read is repeated if its status is 2xx or 5xx.
  ...[200, 299, 500].map((status): [number, string, string, number] => [
    status,
    PAGE,
    'unreadable_response',
    2,
  ]),
  ...[300, 400, 499].map((status): [number, string, string, number] => [
    status,
    PAGE,
    'unreadable_response',
    1,
  ]),
  // An error has a code and a message in text, and a list is an array.
  ...['{"code":5,"message":"No."}', '{"code":"no"}', 'null', '[]'].map(
    (body): [number, string, string, number] => [400, body, 'unreadable_response', 1],
  ),
  [200, '{}', 'unreadable_response', 2],
  [200, '[]'.padEnd(4 * MIB + 1), 'unreadable_response', 2],
];

test('each response is an error with its code, and is requested again only if that can help', async () => {
  for (const [status, body, code, requests] of RESPONSES) {
    gateway.requests.length = 0;
    gateway.fault = () => ({ status, body });
    const reading = gateway.client({ retries: 1 }).pets.list().page();
    await assert.rejects(reading, { code, status, requestId: `request-${requests}` });
    assert.equal(gateway.requests.length, requests, `${status} ${body.slice(0, 30)}`);
  }
});

test('a response of 4 MiB is read, and of a longer one the transfer is stopped', async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const watched: typeof fetch = (input, init) => {
    signals.push(init?.signal);
    return fetch(input, init);
  };
  const { pets } = gateway.client({ retries: 0, fetch: watched });
  gateway.fault = () => ({ status: 200, body: '[]'.padEnd(4 * MIB) });
  assert.deepEqual((await pets.list()).pets, []);
  gateway.fault = () => ({ status: 200, body: '[]'.padEnd(6 * MIB) });
  await assert.rejects(pets.list().page(), { code: 'unreadable_response' });
  assert.equal(signals[1]?.aborted, true, 'the transfer was not stopped');
});

test('a response without a body, or not in UTF-8, is unreadable, with the reason as its cause', async (t) => {
  const latin1 = Buffer.from('[{"id":1,"name":"é","categoryId":7,"status":"sold"}]', 'latin1');
  for (const [response, cause, status] of [
    // This is how browsers show a redirect that is not followed.
    [Response.error(), /JSON/, 0],
    [new Response(null, { status: 204 }), /JSON/, 204],
    [new Response(latin1), /encoded data/, 200],
  ] as const) {
    const sent = t.mock.fn(() => Promise.resolve(response));
    const retries = status === 0 ? 1 : 0;
    const reading = gateway.client({ fetch: sent, retries }).pets.list().page();
    await assert.rejects(reading, (error) => {
      assert.ok(error instanceof PetStoreError && error.cause instanceof Error);
      assert.deepEqual([error.code, error.status], ['unreadable_response', status]);
      assert.match(error.cause.message, cause);
      return true;
    });
    assert.equal(sent.mock.callCount(), 1);
  }
});

test('a service that never responds is given up after the timeout of an attempt, and after that of the call', async (t) => {
  gateway.fault = () => 'silence';
  const timedOut = {
    name: 'PetStoreError',
    code: 'timed_out',
    status: 0,
    requestId: undefined,
    message: 'No response within 50 ms.',
  };
  await assert.rejects(gateway.client({ timeoutMs: 50, retries: 1 }).pets.create(REX), timedOut);
  assert.equal(gateway.requests.length, 2);
  const patient = { timeoutMs: 20, totalTimeoutMs: 200, retries: 1_000_000 };
  await assert.rejects(gateway.client(patient).pets.create(REX), { code: 'timed_out' });
  // It also ends an attempt whose own timeout is far away, however long the process has been running.
  t.mock.method(performance, 'now', () => 1e9);
  const slow = { timeoutMs: 1_000_000, totalTimeoutMs: 50 };
  await assert.rejects(gateway.client(slow).pets.create(REX), timedOut);
});

test('no service at all is connection_lost, with the reason as its cause', async () => {
  const refused = gateway.client({ retries: 1 });
  gateway.close();
  await assert.rejects(refused.pets.create(REX), (error) => {
    assert.ok(error instanceof PetStoreError && error.cause instanceof Error);
    assert.equal(error.code, 'connection_lost');
    assert.match(error.message, /^No response from http:\S+\/v1 \(ECONNREFUSED\)\.$/);
    return true;
  });
});

test('a failure that names no code, as in a browser, has no reason in its message', async (t) => {
  const fetch = t.mock.fn(() => Promise.reject(new TypeError('Failed to fetch')));
  await assert.rejects(gateway.client({ retries: 0, fetch }).pets.create(REX), {
    code: 'connection_lost',
    message: `No response from ${gateway.origin}/v1.`,
  });
});

test('a signal ends a call with its own reason, and a call that has ended leaves neither a listener nor a timer', async () => {
  const timers = countTimers();
  const patient = gateway.client({ timeoutMs: 1_000_000, totalTimeoutMs: 1_000_000 });
  const controller = new AbortController();
  const { signal } = controller;
  gateway.failFirst(1, { status: 503 });
  await patient.pets.create(REX, { signal });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.ok(countTimers() <= timers, 'a timer is left');

  // While it waits for a response.
  gateway.fault = () => {
    controller.abort(new Error('The page was left.'));
    return 'silence';
  };
  await assert.rejects(patient.pets.create(REX, { signal }), { message: 'The page was left.' });
  assert.equal(gateway.requests.length, 3);
  // Before it was sent.
  for (const call of [
    patient.pets.create(REX, { signal }),
    patient.pets.get(1, { signal }),
    patient.pets.list({ signal }).page(),
  ]) {
    await assert.rejects(call, { message: 'The page was left.' });
  }
  assert.equal(gateway.requests.length, 3);

  // While it waits for its next attempt, well after the 503 has arrived.
  const other = new AbortController();
  gateway.fault = () => {
    setTimeout(() => other.abort(), 300);
    return { status: 503, headers: { 'Retry-After': '600' } };
  };
  const waiting = patient.pets.create(REX, { signal: other.signal });
  await assert.rejects(waiting, { name: 'AbortError' });
  assert.equal(gateway.requests.length, 4);
});

test('a redirect is not followed, so that the key stays with the service', async (t) => {
  const stranger = await Gateway.open(t, service);
  const headers = { Location: `${stranger.origin}/v1/pets` };
  gateway.fault = () => ({ status: 307, headers, body: '' });
  const redirected = { code: 'unreadable_response', status: 307 };
  await assert.rejects(gateway.client().pets.create(REX), redirected);
  assert.deepEqual([gateway.requests.length, stranger.requests.length], [1, 0]);
});

test('in a page of another origin, a service that never responded is named with CORS after one request', async (t) => {
  Object.assign(globalThis, { location: { origin: 'https://shop.example' } });
  t.after(() => Reflect.deleteProperty(globalThis, 'location'));
  gateway.failFirst(1, 'lose_request');
  const client = gateway.client();
  await assert.rejects(client.pets.create(REX), {
    code: 'connection_lost',
    message: `No response from ${gateway.origin}/v1 (UND_ERR_SOCKET): it is likely that it does not allow pages of https://shop.example (CORS); start it with --cors-origins https://shop.example.`,
  });
  assert.equal(gateway.requests.length, 1);
  // One that has responded allows the page, so a lost connection is only that.
  await client.pets.create(REX);
  gateway.fault = ({ number }) => (number === 3 ? 'lose_request' : undefined);
  await client.pets.create(REX);
  assert.equal(gateway.requests.length, 4);
});

test('in a page that was opened from a file, the remedy is a web server: no service can allow such a page', async (t) => {
  Object.assign(globalThis, { location: { origin: 'null' } });
  t.after(() => Reflect.deleteProperty(globalThis, 'location'));
  gateway.failFirst(1, 'lose_request');
  await assert.rejects(gateway.client().pets.create(REX), {
    message: `No response from ${gateway.origin}/v1 (UND_ERR_SOCKET): it is likely that it does not allow pages of null (CORS); open the page from a web server.`,
  });
});

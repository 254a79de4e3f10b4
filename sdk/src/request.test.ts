import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import { openTestServer, type Fault, type TestServer } from '../test/server.ts';
import { PetStore, PetStoreError, type PetStoreOptions } from './index.ts';
import { backoffMsMax, parseRetryAfter } from './request.ts';

let server: TestServer;
beforeEach(async () => {
  server = await openTestServer();
});
afterEach(() => server.close());

const REX = { name: 'Rex', categoryId: 7 };

function newClient(options: Partial<PetStoreOptions> = {}): PetStore {
  return new PetStore({ baseUrl: server.baseUrl, apiKey: server.apiKey, backoffMs: 1, ...options });
}

function failFirst(count: number, fault: Fault): void {
  server.fault = ({ number }) => (number <= count ? fault : undefined);
}

function countTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

test('with every second response lost, 200 creates make exactly 200 animals', async () => {
  const faults: Fault[] = ['lose_response', 'cut_short', 'lose_request', 'half_json'];
  server.fault = ({ number }) =>
    number % 2 === 0 ? faults[(number / 2) % faults.length] : undefined;
  // Which of ten concurrent creates fails is random. Forty retries are enough for all.
  const { pets } = newClient({ retries: 40 });
  const names = Array.from({ length: 200 }, (_, index) => `Animal ${index}`);
  const waiting = [...names];
  const created: bigint[] = [];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      created.push((await pets.create({ name, categoryId: 1 })).id);
    }
  };
  await Promise.all(Array.from({ length: 10 }, worker));

  assert.equal(server.pets.length, 200);
  assert.deepEqual(new Set(server.pets.map(({ name }) => name)), new Set(names));
  assert.deepEqual(new Set(created), new Set(server.pets.map(({ id }) => id)));
  assert.ok(server.requests.length >= 380, `${server.requests.length} requests were sent`);
});

for (const fault of [
  'lose_request',
  'lose_response',
  'cut_short',
  'half_json',
  'garbage',
  { status: 503 },
  { status: 429, code: 'rate_limited' },
  { status: 502, body: '<html>Bad Gateway</html>' },
] satisfies Fault[]) {
  test(`a create succeeds after two times ${JSON.stringify(fault)}, with one key and one animal`, async () => {
    failFirst(2, fault);
    const pet = await newClient().pets.create(REX);
    assert.equal(server.requests.length, 3);
    assert.equal(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size, 1);
    assert.deepEqual(server.pets, [pet]);
  });
}

test('two creates of the same animal have two keys and make two animals', async () => {
  const { pets } = newClient();
  await pets.create(REX);
  await pets.create(REX);
  assert.equal(server.pets.length, 2);
});

test('the delay of Retry-After is respected, in seconds and as a date', async () => {
  failFirst(1, { status: 503, code: 'overloaded', headers: { 'Retry-After': '1' } });
  const start = performance.now();
  await newClient().pets.create(REX);
  // A timer may fire slightly early.
  assert.ok(performance.now() - start >= 990);
  assert.equal(server.requests.length, 2);

  const now = Date.parse('Thu, 05 Dec 2030 00:00:00 GMT');
  assert.equal(parseRetryAfter('Thu, 05 Dec 2030 00:01:00 GMT', now), 60_000);
  assert.equal(parseRetryAfter('Wed, 04 Dec 2030 00:00:00 GMT', now), 0);
  assert.equal(parseRetryAfter('05 Dec 2030 00:01 +0000', now), 60_000);
  assert.equal(parseRetryAfter('120', now), 120_000);
  assert.equal(parseRetryAfter('soon', now), undefined);
  assert.equal(parseRetryAfter('', now), undefined);
});

test('the longest delay doubles with every attempt, up to 10 seconds', () => {
  const delays = [0, 1, 5, 6, 2000].map((attempt) => backoffMsMax(200, attempt));
  assert.deepEqual(delays, [200, 400, 6400, 10_000, 10_000]);
  // 2 to this power is Infinity, and 0 times it would be no number.
  assert.equal(backoffMsMax(0, 1_025), 0);
});

test('retries stop at the maximum, and the error is the last response', async () => {
  server.fault = () => ({ status: 503, code: 'overloaded' });
  await assert.rejects(newClient({ retries: 3 }).pets.create(REX), {
    name: 'PetStoreError',
    code: 'overloaded',
    status: 503,
    message: 'On purpose.',
    requestId: 'request-4',
  });
  assert.equal(server.requests.length, 4);
});

test('a delay longer than the total timeout is not started', async () => {
  server.fault = () => ({ status: 429, code: 'rate_limited', headers: { 'Retry-After': '3600' } });
  await assert.rejects(newClient().pets.create(REX), {
    code: 'rate_limited',
    retryAfterMs: 3_600_000,
  });
  assert.equal(server.requests.length, 1);
});

test('an error that a retry cannot solve is not retried', async () => {
  for (const status of [400, 401, 403, 404, 410, 422, 500, 501]) {
    server.requests.length = 0;
    server.fault = () => ({ status, code: 'a_later_code' });
    await assert.rejects(newClient().pets.create(REX), { code: 'a_later_code', status });
    assert.equal(server.requests.length, 1, String(status));
  }
});

test('an unreadable response is retried only if its status is 2xx or 5xx', async () => {
  for (const [status, requests] of [
    [200, 2],
    [299, 2],
    [300, 1],
    [400, 1],
    [499, 1],
    [500, 2],
  ] as const) {
    server.requests.length = 0;
    server.fault = () => ({ status, body: '<html></html>' });
    const reading = newClient({ retries: 1 }).pets.list().page();
    await assert.rejects(reading, { code: 'unreadable_response', status });
    assert.equal(server.requests.length, requests, String(status));
  }
});

test('an error without a code and a message in text is unreadable', async () => {
  for (const body of ['{"code":5,"message":"No."}', '{"code":"no"}', 'null', '[]']) {
    server.fault = () => ({ status: 400, body });
    await assert.rejects(newClient().pets.create(REX), {
      code: 'unreadable_response',
      status: 400,
    });
  }
});

test('a response without a body, without a list, or not in UTF-8 is unreadable', async () => {
  const latin1 = Buffer.from('[{"id":1,"name":"é","categoryId":7,"status":"sold"}]', 'latin1');
  for (const [response, cause] of [
    // This is how browsers show a redirect that is not followed.
    [Response.error(), /JSON/],
    [new Response(null, { status: 204 }), /JSON/],
    [new Response('{}'), /^This is not a list\.$/],
    [new Response(latin1), /encoded data/],
  ] as const) {
    const fetch = () => Promise.resolve(response);
    await assert.rejects(newClient({ fetch, retries: 0 }).pets.list().page(), (error) => {
      assert.ok(error instanceof PetStoreError && error.cause instanceof Error);
      assert.equal(error.code, 'unreadable_response');
      assert.match(error.cause.message, cause);
      return true;
    });
  }
  let calls = 0;
  const opaque = () => {
    calls += 1;
    return Promise.resolve(Response.error());
  };
  await assert.rejects(newClient({ fetch: opaque }).pets.list().page(), { status: 0 });
  assert.equal(calls, 1);
});

test('a service that never responds is given up after the timeout of each attempt', async () => {
  server.fault = () => 'silence';
  await assert.rejects(newClient({ timeoutMs: 50, retries: 1 }).pets.create(REX), (error) => {
    assert.ok(error instanceof PetStoreError && error.cause instanceof Error);
    const { name, code, status, requestId, message } = error;
    assert.deepEqual(
      { name, code, status, requestId, message },
      {
        name: 'PetStoreError',
        code: 'timed_out',
        status: 0,
        requestId: undefined,
        message: 'No response within 50 ms.',
      },
    );
    return true;
  });
});

test('the total timeout ends a call, however many retries are left', async (context) => {
  server.fault = () => 'silence';
  const patient = { timeoutMs: 20, totalTimeoutMs: 200, retries: 1_000_000 };
  await assert.rejects(newClient(patient).pets.create(REX), { code: 'timed_out' });
  // It also ends an attempt whose own timeout is far away, however long the process has been running.
  context.mock.method(performance, 'now', () => 1e9);
  const slow = { timeoutMs: 1_000_000, totalTimeoutMs: 50 };
  await assert.rejects(newClient(slow).pets.create(REX), {
    code: 'timed_out',
    message: 'No response within 50 ms.',
  });
});

test('no service at all is connection_lost, with the reason as its cause', async () => {
  await server.close();
  await assert.rejects(newClient({ retries: 1 }).pets.create(REX), (error) => {
    assert.ok(error instanceof PetStoreError && error.cause instanceof Error);
    assert.equal(error.code, 'connection_lost');
    assert.equal(error.message, `No response from ${server.baseUrl} (ECONNREFUSED).`);
    return true;
  });
});

test('a failure that names no code, as in a browser, has no reason in its message', async (t) => {
  const fetch = t.mock.fn(() => Promise.reject(new TypeError('Failed to fetch')));
  await assert.rejects(newClient({ retries: 0, fetch }).pets.create(REX), {
    code: 'connection_lost',
    message: `No response from ${server.baseUrl}.`,
  });
});

test('a response that stays unreadable is an error with its status and request id', async () => {
  server.fault = () => 'garbage';
  await assert.rejects(newClient({ retries: 1 }).pets.create(REX), {
    code: 'unreadable_response',
    status: 201,
    requestId: 'request-2',
  });
});

test('an endless response is given up before it fills the memory', async () => {
  server.fault = () => 'endless';
  const signals: (AbortSignal | null | undefined)[] = [];
  const watched: typeof fetch = (input, init) => {
    signals.push(init?.signal);
    return fetch(input, init);
  };
  await assert.rejects(newClient({ retries: 0, fetch: watched }).pets.create(REX), {
    code: 'unreadable_response',
  });
  assert.equal(signals[0]?.aborted, true, 'the transfer was not stopped');
});

test('a response of 4 MiB is read, and a longer one is not', async () => {
  const { pets } = newClient({ retries: 0 });
  const body = '[]'.padEnd(4 * 1024 * 1024);
  server.fault = () => ({ status: 200, body });
  assert.deepEqual((await pets.list()).pets, []);
  server.fault = () => ({ status: 200, body: `${body} ` });
  await assert.rejects(pets.list().page(), { code: 'unreadable_response' });
});

test('a call that has ended leaves neither a listener nor a timer', async () => {
  const { signal } = new AbortController();
  const before = countTimers();
  failFirst(1, { status: 503 });
  await newClient({ timeoutMs: 1_000_000 }).pets.create(REX, { signal });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.ok(countTimers() <= before, 'a timer is left');
});

test('a signal ends a call that waits for a response, with its own reason', async () => {
  const controller = new AbortController();
  server.fault = () => {
    controller.abort(new Error('The page was left.'));
    return 'silence';
  };
  const client = newClient({ timeoutMs: 1_000_000, totalTimeoutMs: 1_000_000 });
  await assert.rejects(client.pets.create(REX, { signal: controller.signal }), {
    message: 'The page was left.',
  });
  assert.equal(server.requests.length, 1);
});

test('a signal ends a call that waits for its next attempt', async () => {
  const controller = new AbortController();
  const client = newClient({ retries: 1, totalTimeoutMs: 1_000_000 });
  server.fault = () => {
    // Well after the 503 has arrived, and long before the retry that it asks for.
    setTimeout(() => controller.abort(), 300);
    return { status: 503, headers: { 'Retry-After': '600' } };
  };
  await assert.rejects(client.pets.create(REX, { signal: controller.signal }), {
    name: 'AbortError',
  });
  assert.equal(server.requests.length, 1);
});

test('a signal that has already fired sends nothing', async () => {
  const { pets } = newClient();
  const signal = AbortSignal.abort();
  await assert.rejects(pets.create(REX, { signal }), { name: 'AbortError' });
  await assert.rejects(pets.get(1, { signal }), { name: 'AbortError' });
  await assert.rejects(pets.list({ signal }).page(), { name: 'AbortError' });
  assert.equal(server.requests.length, 0);
});

test('a redirect is not followed, so that the key stays with the service', async (context) => {
  const stranger = await openTestServer();
  context.after(() => stranger.close());
  server.fault = () => ({ status: 307, headers: { Location: `${stranger.baseUrl}/pets` } });
  await assert.rejects(newClient().pets.create(REX), { code: 'unreadable_response', status: 307 });
  assert.equal(server.requests.length, 1);
  assert.equal(stranger.requests.length, 0);
});

test('in a page of another origin, a service that never responded is named with CORS after one request', async (t) => {
  Object.assign(globalThis, { location: { origin: 'https://shop.example' } });
  t.after(() => Reflect.deleteProperty(globalThis, 'location'));
  failFirst(1, 'lose_request');
  const client = newClient();
  await assert.rejects(client.pets.create(REX), {
    code: 'connection_lost',
    message: `No response from ${server.baseUrl} (UND_ERR_SOCKET): it is likely that it does not allow pages of https://shop.example (CORS); start it with --cors-origins https://shop.example.`,
  });
  assert.equal(server.requests.length, 1);
  // One that has responded allows the page, so a lost connection is only that.
  await client.pets.create(REX);
  server.fault = ({ number }) => (number === 3 ? 'lose_request' : undefined);
  await client.pets.create(REX);
  assert.equal(server.requests.length, 4);
});

test('in a page that was opened from a file, the remedy is a web server: no service can allow such a page', async (t) => {
  Object.assign(globalThis, { location: { origin: 'null' } });
  t.after(() => Reflect.deleteProperty(globalThis, 'location'));
  failFirst(1, 'lose_request');
  await assert.rejects(newClient().pets.create(REX), {
    message: `No response from ${server.baseUrl} (UND_ERR_SOCKET): it is likely that it does not allow pages of null (CORS); open the page from a web server.`,
  });
});

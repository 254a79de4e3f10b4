import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { inspect } from 'node:util';
import { openTestServer, type TestServer } from '../test/server.ts';
import { PetStore, type Pet, type PetPage, type PetStoreOptions } from './index.ts';

let server: TestServer;
beforeEach(async () => {
  server = await openTestServer();
});
afterEach(() => server.close());

function newClient(options: Partial<PetStoreOptions> = {}): PetStore {
  const { baseUrl, apiKey } = server;
  return new PetStore({ baseUrl, apiKey, backoffMs: 1, warn: () => undefined, ...options });
}

function stock(count: number): void {
  for (let index = 0; index < count; index += 1) {
    const status = index % 3 === 0 ? 'sold' : 'available';
    server.pets.push({ id: BigInt(index + 1), name: `Animal ${index}`, categoryId: 1n, status });
  }
}

async function all(pets: AsyncIterable<Pet>): Promise<Pet[]> {
  const found: Pet[] = [];
  for await (const pet of pets) found.push(pet);
  return found;
}

test('the iterator reads 1,000 animals page by page, each once and in order', async () => {
  stock(1000);
  assert.deepEqual(await all(newClient().pets.list({ limit: 70 })), server.pets);
  assert.equal(server.requests.length, Math.ceil(1000 / 70));
});

test('the iterator continues when responses are lost between pages', async () => {
  stock(100);
  server.fault = ({ number }) => (number % 2 === 0 ? 'cut_short' : undefined);
  assert.deepEqual(await all(newClient().pets.list({ limit: 10 })), server.pets);
});

test('the status filter applies to every page', async () => {
  stock(100);
  const sold = await all(newClient().pets.list({ status: 'sold', limit: 10 }));
  assert.deepEqual(
    sold,
    server.pets.filter(({ status }) => status === 'sold'),
  );
});

test('no further page is requested after the reader stops', async () => {
  stock(100);
  for await (const pet of newClient().pets.list({ limit: 10 })) if (pet.id === 15n) break;
  assert.equal(server.requests.length, 2);
});

test('await gives the first page, and for await all animals', async () => {
  stock(25);
  const list = newClient().pets.list({ limit: 10 });
  assert.equal(server.requests.length, 0);
  const first = await list;
  assert.deepEqual(first, await list.page());
  assert.deepEqual(first.pets, server.pets.slice(0, 10));
  assert.deepEqual(await all(list), server.pets);
  await assert.rejects(async () => newClient({ apiKey: 'wrong' }).pets.list(), { status: 401 });
});

test('toArray returns at most max animals, and requests no page beyond them', async () => {
  stock(25);
  const list = newClient().pets.list({ limit: 10 });
  assert.deepEqual(await list.toArray({ max: 10 }), server.pets.slice(0, 10));
  assert.equal(server.requests.length, 1);
  assert.deepEqual(await list.toArray({ max: 11 }), server.pets.slice(0, 11));
  assert.equal(server.requests.length, 3);
  assert.deepEqual(await list.toArray({ max: 1000 }), server.pets);
  assert.deepEqual(await list.toArray(), server.pets);
  for (const max of [0, -1, Number.NaN, Infinity]) {
    await assert.rejects(list.toArray({ max }), { name: 'TypeError', message: /^max must be/ });
  }
});

test('last returns the newest animals of the filter, in ascending order', async () => {
  stock(25);
  const { pets, nextCursor } = await newClient().pets.list({ limit: 10 }).last();
  assert.deepEqual(pets, server.pets.slice(-10));
  assert.equal(nextCursor, undefined);
  const sold = server.pets.filter(({ status }) => status === 'sold');
  assert.deepEqual(
    (await newClient().pets.list({ status: 'sold', limit: 2 }).last()).pets,
    sold.slice(-2),
  );
});

test('toReversed reads from the newest to the oldest, each once, with the filter, in pages and as an array', async () => {
  stock(1000);
  const newest = server.pets.toReversed();
  const list = newClient().pets.list({ limit: 70 }).toReversed();
  assert.equal(server.requests.length, 0);
  assert.deepEqual(await all(list), newest);
  assert.equal(server.requests.length, Math.ceil(1000 / 70));
  assert.ok(server.requests[0]?.url.endsWith('?limit=70&cursor=last'));
  const sold = newest.filter(({ status }) => status === 'sold');
  assert.deepEqual(await all(newClient().pets.list({ status: 'sold' }).toReversed()), sold);
  assert.deepEqual(await list.toArray({ max: 71 }), newest.slice(0, 71));

  const first = await list;
  assert.deepEqual(first, await list.page());
  assert.deepEqual(first.pets, newest.slice(0, 70));
  const second = await list.page(first.nextCursor);
  assert.deepEqual(second.pets, newest.slice(70, 140));
  assert.deepEqual(await list.last(), first);
  assert.deepEqual(await all(list.toReversed()), server.pets);
});

test('toReversed ends at the oldest animal, however many the last page has', async () => {
  assert.deepEqual(await all(newClient().pets.list().toReversed()), []);
  for (let count = 1; count <= 5; count += 1) {
    server.pets.splice(0, Infinity);
    stock(count);
    const found = await all(newClient().pets.list({ limit: 2 }).toReversed());
    assert.deepEqual(found, server.pets.toReversed());
  }
});

test('JSON.stringify writes the ids of a pet as numbers with all their digits', async () => {
  const { pets } = newClient();
  server.nextId = 2n ** 63n - 1n;
  const pet = await pets.create({ name: 'Rex', categoryId: -(2n ** 63n) });
  const text =
    '{"id":9223372036854775807,"name":"Rex","categoryId":-9223372036854775808,"status":"available"}';
  assert.equal(JSON.stringify(pet), text);
  assert.equal(JSON.stringify(await pets.list()), `{"pets":[${text}]}`);
  assert.equal(pet.id, 2n ** 63n - 1n);
  assert.deepEqual(structuredClone(pet), { ...pet });
  assert.deepEqual(Object.keys(pet), ['id', 'name', 'categoryId', 'status']);
});

test('an empty store is an empty list', async () => {
  assert.deepEqual(await all(newClient().pets.list()), []);
  assert.deepEqual(await newClient().pets.list().page(), { pets: [], nextCursor: undefined });
});

test('a console can page forward and back, with its own page size', async () => {
  stock(25);
  const list = newClient().pets.list({ limit: 10 });
  const cursors: (string | undefined)[] = [undefined];
  const shown: PetPage[] = [];
  for (let cursor = cursors.at(-1), more = true; more; cursor = cursors.at(-1)) {
    const page = await list.page(cursor);
    shown.push(page);
    more = page.nextCursor !== undefined;
    cursors.push(page.nextCursor);
  }
  assert.deepEqual(
    shown.map(({ pets }) => pets.length),
    [10, 10, 5],
  );
  assert.deepEqual(await list.page(cursors[1]), shown[1]);
  assert.deepEqual(await list.page(), shown[0]);
});

test('links that are paths lead to the pages of the service that was asked', async () => {
  server.linkBase = '/v1';
  const { pets } = newClient();
  for (let count = 0; count < 5; count += 1) await pets.create({ name: 'Rex', categoryId: 7 });
  const ids = [1n, 2n, 3n, 4n, 5n];
  for (const [list, expected] of [
    [pets.list({ limit: 2 }), ids],
    [pets.list({ limit: 2 }).toReversed(), ids.toReversed()],
  ] as const) {
    const found = await list.toArray();
    assert.deepEqual(
      found.map(({ id }) => id),
      expected,
    );
  }
});

test('the key never goes to another origin, even when a link to the next page points there', async (context) => {
  const stranger = await openTestServer();
  context.after(() => stranger.close());
  stock(30);
  server.linkBase = stranger.baseUrl;
  assert.equal((await all(newClient().pets.list({ limit: 10 }))).length, 30);
  assert.equal(stranger.requests.length, 0);
});

test('a page whose next page is itself ends in an error, not in a loop', async () => {
  const headers = { Link: `<${server.baseUrl}/pets?cursor=again>; rel="next"` };
  // A loop would end in another error.
  server.fault = () => ({ status: server.requests.length > 4 ? 500 : 200, headers, body: '[]' });
  await assert.rejects(all(newClient({ retries: 0 }).pets.list()), { code: 'unreadable_response' });
  assert.equal(server.requests.length, 2);
});

test('int64 extremes are exact in both directions', async () => {
  const { pets } = newClient();
  for (const value of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]) {
    server.nextId = value;
    const created = await pets.create({ name: 'Rex', categoryId: value });
    assert.deepEqual(created, { id: value, name: 'Rex', categoryId: value, status: 'available' });
    assert.ok(server.requests.at(-1)?.body.includes(`"categoryId":${value}`));
    assert.deepEqual(await pets.get(value), created);
    assert.equal(server.requests.at(-1)?.url, `/v1/pets/${value}`);
  }
});

test('a number is accepted like a bigint, and a rounded number is not sent', async () => {
  const { pets } = newClient();
  assert.equal((await pets.create({ name: 'Rex', categoryId: 7, status: 'sold' })).categoryId, 7n);
  assert.equal((await pets.get(1)).status, 'sold');
  await assert.rejects(pets.create({ name: 'Rex', categoryId: 2 ** 53 }), TypeError);
  await assert.rejects(pets.get(2 ** 53), TypeError);
  await assert.rejects(pets.get('7' as unknown as number), {
    message: 'id must be a safe integer or an int64 as a bigint, not "7".',
  });
  assert.equal(server.requests.length, 2);
});

test('a name is returned exactly as it was sent', async () => {
  const { pets } = newClient();
  for (const name of ['Zoë 🐕‍🦺', '"\\/\n\t\u2028\u0001', '123', '#1', "'x", '{"id":1}']) {
    assert.equal((await pets.create({ name, categoryId: 1 })).name, name);
  }
});

test('a create with an idempotency key that was used before returns the first animal', async () => {
  const { pets } = newClient();
  const options = { idempotencyKey: 'order "42" \\ line 1'.replaceAll(' ', '-') };
  const first = await pets.create({ name: 'Rex', categoryId: 7 }, options);
  assert.deepEqual(await pets.create({ name: 'Rex', categoryId: 7 }, options), first);
  assert.equal(
    server.requests[0]?.headers['idempotency-key'],
    String.raw`"order-\"42\"-\\-line-1"`,
  );
  await assert.rejects(pets.create({ name: 'Tom', categoryId: 7 }, options), {
    code: 'idempotency_key_reused',
    status: 422,
  });
  assert.equal(server.pets.length, 1);
});

test('an idempotency key that a header cannot carry is a TypeError', async () => {
  const { pets } = newClient();
  await pets.create({ name: 'Rex', categoryId: 7 }, { idempotencyKey: 'x'.repeat(255) });
  for (const idempotencyKey of ['', 'a b', 'é', 'x'.repeat(256), 'a\r\nX: y']) {
    await assert.rejects(
      pets.create({ name: 'Rex', categoryId: 7 }, { idempotencyKey }),
      TypeError,
    );
  }
  assert.equal(server.requests.length, 1);
});

test('an error carries code, status, message and request id', async () => {
  const error = {
    name: 'PetStoreError',
    code: 'invalid_api_key',
    status: 401,
    requestId: 'request-1',
  };
  await assert.rejects(newClient({ apiKey: 'pet_test_wrong' }).pets.list().page(), error);
  await assert.rejects(newClient().pets.list({ limit: 101 }).page(), {
    code: 'invalid_parameter',
    status: 400,
    message: 'limit must be an integer from 1 to 100.',
    requestId: 'request-2',
  });
});

test('a deprecated operation causes one warning, with its date of removal and a link', async () => {
  const warnings: string[] = [];
  const { pets } = newClient({ warn: (message) => warnings.push(message) });
  await assert.rejects(pets.get(1), { code: 'pet_not_found', status: 404 });
  await pets.create({ name: 'Rex', categoryId: 7 });
  await pets.get(1);
  assert.deepEqual(warnings, [
    `petstore-client: GET /pets/{petId} is deprecated and ends on Thu, 05 Dec 2030 00:00:00 GMT. ${server.origin}/docs#getPet`,
  ]);
});

test('a deprecation without a date and a link is a warning too', async () => {
  const warnings: string[] = [];
  server.fault = () => ({ status: 200, headers: { Deprecation: '@1794614400' }, body: '[]' });
  await newClient({ warn: (message) => warnings.push(message) }).pets.list();
  assert.deepEqual(warnings, [
    'petstore-client: GET /pets is deprecated and ends on an unknown date.',
  ]);
});

test('logging the client does not show the key', () => {
  const client = newClient();
  const shown = inspect(client, { depth: null, showHidden: true }) + JSON.stringify(client);
  assert.ok(!shown.includes(server.apiKey));
});

test('invalid options are a TypeError that names them and does not show the key', () => {
  const faults: [Partial<PetStoreOptions>, RegExp][] = [
    [{ baseUrl: 'pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'ftp://pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'xhttp://pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'https://pets.example/v1?a=b' }, /^baseUrl must be/],
    [{ baseUrl: 'https://me:secret@pets.example/v1' }, /^baseUrl must be/],
    [
      { baseUrl: 'https://pets.example' },
      /that ends in \/v1, such as https:\/\/pets\.example\/v1\.$/,
    ],
    [{ baseUrl: 'https://pets.example/v1/pets' }, /that ends in \/v1/],
    [{ baseUrl: '' }, /^Missing baseUrl: use new PetStore\(/],
    [{ apiKey: '' }, /^Missing apiKey: use new PetStore\(/],
    [{ apiKey: 'a key' }, /^apiKey must be visible ASCII characters\.$/],
    [{ timeoutMs: 0 }, /^timeoutMs must be a number from 1 to 2147483647, not 0\.$/],
    [{ totalTimeoutMs: 2 ** 31 }, /^totalTimeoutMs must be/],
    [{ retries: -1 }, /^retries must be/],
    [{ backoffMs: Number.NaN }, /^backoffMs must be/],
  ];
  for (const [options, message] of faults) {
    assert.throws(() => newClient(options), { name: 'TypeError', message });
  }
  for (const nothing of [[], [{}], [null]]) {
    assert.throws(() => Reflect.construct(PetStore, nothing), {
      name: 'TypeError',
      message:
        "Missing baseUrl and apiKey: use new PetStore({ baseUrl: 'https://pets.example/v1', apiKey: '…' }), or set PETSTORE_BASE_URL and PETSTORE_API_KEY.",
    });
  }
});

test('the base URL and the key default to PETSTORE_BASE_URL and PETSTORE_API_KEY, and an option comes first', async (t) => {
  const { PETSTORE_BASE_URL, PETSTORE_API_KEY, ...others } = process.env;
  t.after(() => {
    process.env = { PETSTORE_BASE_URL, PETSTORE_API_KEY, ...others };
  });
  process.env = { ...others, PETSTORE_BASE_URL: server.baseUrl, PETSTORE_API_KEY: server.apiKey };
  await new PetStore().pets.list();
  assert.equal(server.requests[0]?.headers.authorization, `Bearer ${server.apiKey}`);
  await assert.rejects(async () => new PetStore({ apiKey: 'other' }).pets.list(), { status: 401 });
  process.env = {
    ...others,
    PETSTORE_BASE_URL: 'http://127.0.0.1:1/v1',
    PETSTORE_API_KEY: 'other',
  };
  await newClient().pets.list();
  assert.equal(server.requests.length, 3);
  // An option that is empty is a mistake, not a wish for the default.
  assert.throws(() => new PetStore({ apiKey: '' }), { message: /^Missing apiKey:/ });
});

test('the base URL may end in slashes', async () => {
  await newClient({ baseUrl: `${server.baseUrl}//` })
    .pets.list()
    .page();
  assert.equal(server.requests[0]?.url, '/v1/pets');
});

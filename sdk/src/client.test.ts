import assert from 'node:assert/strict';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { Gateway } from '../test/gateway.ts';
import { PetStore, PET_STATUSES, type Pet, type PetStoreOptions } from './index.ts';

const REX = { name: 'Rex', categoryId: 7 };

let service: TestService;
/** What the service has at first: 10 available animals, 3 pending ones, and none that is sold. */
let stock: Pet[];
let gateway: Gateway;
before(async () => {
  service = await startTestService(sqliteStorage);
  const { baseUrl, key: apiKey } = service;
  const { pets } = new PetStore({ baseUrl, apiKey });
  for (let index = 0; index < 13; index += 1) {
    const status = index % 5 === 0 ? 'pending' : 'available';
    await pets.create({ name: `Animal ${index}`, categoryId: 1n, status });
  }
  stock = await pets.list().toArray();
});
after(() => service.close());
beforeEach(async (t) => {
  gateway = await Gateway.open(t as TestContext, service);
});

/** An own store for tests that create. */
async function emptyGateway(t: TestContext): Promise<Gateway> {
  const empty = await startTestService(sqliteStorage);
  t.after(() => empty.close());
  return Gateway.open(t, empty);
}

async function all(pets: AsyncIterable<Pet>): Promise<Pet[]> {
  return Array.fromAsync(pets);
}

test('a list has each animal once and in order, in any pages, forwards and back, and requests no page too many', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(undefined, ...PET_STATUSES),
      fc.integer({ min: 1, max: 15 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 15 }),
      async (status, limit, isReversed, max) => {
        const forwards = stock.filter((pet) => status === undefined || pet.status === status);
        const expected = isReversed ? forwards.toReversed() : forwards;
        const plain = gateway.client().pets.list({ status, limit });
        const list = isReversed ? plain.toReversed() : plain;
        const count = async (work: Promise<unknown>, requests: number, result: unknown) => {
          gateway.requests.length = 0;
          assert.deepEqual(await work, result);
          assert.equal(gateway.requests.length, requests);
        };
        const pagesOf = (animals: number) => Math.max(1, Math.ceil(animals / limit));
        await count(all(list), pagesOf(expected.length), expected);
        await count(all(list.toReversed()), pagesOf(expected.length), expected.toReversed());
        const some = Math.min(max, expected.length);
        await count(list.toArray({ max }), pagesOf(some), expected.slice(0, max));

        const first = await list;
        assert.deepEqual(first.pets, expected.slice(0, limit));
        assert.deepEqual(await list.page(), first);
        assert.equal(first.nextCursor !== undefined, expected.length > limit);
        if (first.nextCursor !== undefined) {
          const { pets } = await list.page(first.nextCursor);
          assert.deepEqual(pets, expected.slice(limit, 2 * limit));
        }
        const newest = forwards.slice(-limit);
        assert.deepEqual((await list.last()).pets, isReversed ? newest.toReversed() : newest);
      },
    ),
    { numRuns: 10 },
  );
});

test('a list sends nothing until it is used, and an invalid max is a TypeError', async () => {
  const list = gateway.client().pets.list();
  list.toReversed();
  for (const max of [0, -1, Number.NaN, Infinity]) {
    await assert.rejects(list.toArray({ max }), { name: 'TypeError', message: /^max must be/ });
  }
  assert.equal(gateway.requests.length, 0);
  assert.deepEqual(await list.toArray(), stock);
});

test('the iterator continues when responses are lost between pages', async () => {
  gateway.fault = ({ number }) => (number % 2 === 0 ? 'cut_short' : undefined);
  assert.deepEqual(await all(gateway.client().pets.list({ limit: 3 })), stock);
});

test('a page whose next page is itself ends in an error, not in a loop', async () => {
  const headers = { Link: `</v1/pets?cursor=again>; rel="next"` };
  // A loop would end in another error.
  gateway.fault = ({ number }) => ({ status: number > 4 ? 500 : 200, headers, body: '[]' });
  await assert.rejects(all(gateway.client({ retries: 0 }).pets.list()), {
    code: 'unreadable_response',
  });
  assert.equal(gateway.requests.length, 2);
});

test('names and int64 extremes are exact in both directions, and JSON has all digits', async (t) => {
  const own = await emptyGateway(t);
  const { pets } = own.client({ warn: () => undefined });
  const names = ['Zoë 🐕‍🦺', '"\\/\n\t\u2028\u0001', '123', '#1', "'x", '{"id":1}'];
  const categories = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 7];
  for (const [index, name] of names.entries()) {
    const categoryId = categories[index % categories.length] ?? 0;
    const pet = await pets.create({ name, categoryId, status: 'sold' });
    const id = BigInt(index + 1);
    assert.deepEqual(pet, { id, name, categoryId: BigInt(categoryId), status: 'sold' });
    assert.ok(own.requests.at(-1)?.body.includes(`"categoryId":${categoryId},`));
    assert.deepEqual(await pets.get(id), pet);
    assert.deepEqual(structuredClone(pet), { ...pet });
  }
  const last = { id: 2n ** 63n - 1n, ...REX, status: 'available' };
  own.fault = () => ({
    status: 200,
    body: `[{"id":${last.id},"name":"Rex","categoryId":7,"status":"available"}]`,
  });
  const listed = await pets.list();
  assert.deepEqual(listed.pets, [{ ...last, categoryId: 7n }]);
  const text = `{"id":${last.id},"name":"Rex","categoryId":7,"status":"available"}`;
  assert.equal(JSON.stringify(listed), `{"pets":[${text}]}`);
});

test('a number that may be rounded is not sent', async () => {
  const { pets } = gateway.client();
  await assert.rejects(pets.create({ name: 'Rex', categoryId: 2 ** 53 }), TypeError);
  await assert.rejects(pets.get(2 ** 53), TypeError);
  await assert.rejects(pets.get('7' as unknown as number), {
    message: 'id must be a safe integer or an int64 as a bigint, not "7".',
  });
  assert.equal(gateway.requests.length, 0);
});

test('a create with an idempotency key that was used before returns the first animal', async (t) => {
  const own = await emptyGateway(t);
  const { pets } = own.client();
  const options = { idempotencyKey: String.raw`order-"42"-\-line-1` };
  const first = await pets.create(REX, options);
  assert.deepEqual(await pets.create(REX, options), first);
  const key = own.requests[0]?.headers['idempotency-key'];
  assert.equal(key, String.raw`"order-\"42\"-\\-line-1"`);
  await assert.rejects(pets.create({ ...REX, name: 'Tom' }, options), {
    code: 'idempotency_key_reused',
    status: 422,
  });
  await pets.create(REX, { idempotencyKey: 'x'.repeat(255) });
  for (const idempotencyKey of ['', 'a b', 'é', 'x'.repeat(256), 'a\r\nX: y']) {
    await assert.rejects(pets.create(REX, { idempotencyKey }), TypeError);
  }
  assert.equal(own.requests.length, 4);
});

test('an error carries code, status, message and request id', async () => {
  await assert.rejects(async () => gateway.client({ apiKey: 'pet_test_wrong' }).pets.list(), {
    name: 'PetStoreError',
    code: 'invalid_api_key',
    status: 401,
    requestId: /^[\w-]{36}$/,
  });
  await assert.rejects(async () => gateway.client().pets.list({ limit: 101 }), {
    code: 'invalid_parameter',
    status: 400,
    message: /^limit must be an integer from 1 to 100/,
  });
});

test('a deprecated operation causes one warning, with its date of removal and a link', async () => {
  const warnings: string[] = [];
  const { pets } = gateway.client({ warn: (message) => warnings.push(message) });
  await assert.rejects(pets.get(1_000), { code: 'pet_not_found', status: 404 });
  await pets.list();
  await pets.get(1);
  gateway.fault = () => ({ status: 200, headers: { Deprecation: '@1794614400' }, body: '[]' });
  await pets.list();
  assert.deepEqual(warnings, [
    `petstore-client: GET /pets/{petId} is deprecated and ends on Thu, 05 Dec 2030 00:00:00 GMT. ${gateway.origin}/docs/deprecations`,
    'petstore-client: GET /pets is deprecated and ends on an unknown date.',
  ]);
});

test('logging the client does not show the key', () => {
  const client = gateway.client();
  const shown = inspect(client, { depth: null, showHidden: true }) + JSON.stringify(client);
  assert.ok(!shown.includes(gateway.key));
});

test('invalid options are a TypeError that names them and does not show the key', () => {
  const faults: [Partial<PetStoreOptions>, RegExp][] = [
    [{ baseUrl: 'pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'ftp://pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'xhttp://pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'https://pets.example/v1?a=b' }, /^baseUrl must be/],
    [{ baseUrl: 'https://me:secret@pets.example/v1' }, /^baseUrl must be/],
    [{ baseUrl: 'https://pets.example' }, /that ends in \/v1, such as \S+\/v1\.$/],
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
    assert.throws(() => gateway.client(options), { name: 'TypeError', message });
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
  const variables = { PETSTORE_BASE_URL: `${gateway.origin}/v1//`, PETSTORE_API_KEY: gateway.key };
  process.env = { ...others, ...variables };
  await new PetStore().pets.list();
  // The base URL may end in slashes.
  assert.equal(gateway.requests[0]?.url, '/v1/pets');
  assert.equal(gateway.requests[0]?.headers.authorization, `Bearer ${gateway.key}`);
  await assert.rejects(async () => new PetStore({ apiKey: 'other' }).pets.list(), { status: 401 });
  process.env['PETSTORE_BASE_URL'] = 'http://127.0.0.1:1/v1';
  process.env['PETSTORE_API_KEY'] = 'other';
  await gateway.client().pets.list();
  assert.equal(gateway.requests.length, 3);
  // An option that is empty is a mistake, not a wish for the default.
  assert.throws(() => new PetStore({ apiKey: '' }), { message: /^Missing apiKey:/ });
});

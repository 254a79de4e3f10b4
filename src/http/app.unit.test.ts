// The core without a socket: what is wrong with a request, and what comes back.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listPets } from '../../harness/list-pets.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { Refusal, type ErrorCode } from '../domain/errors.ts';
import type { KeyStore, KeyUse, Store } from '../domain/store.ts';
import { openLog } from '../ops/log.ts';
import { Metrics } from '../ops/metrics.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { App, type AppParts } from './app.ts';
import { errorResponse } from './error-response.ts';
import { KeyUses } from './key-uses.ts';
import type { HttpRequest, HttpResponse } from './message.ts';
import { deprecationHeaders, operations } from './operations.ts';
import { ResponseCache } from './response-cache.ts';

const KEY: ApiKey = {
  id: 'key_a',
  firstKeyId: 'key_a',
  hash: 'a',
  name: 'a',
  scopes: ['pets:read', 'pets:write', 'pets:manage'],
  createdAt: new Date(0),
  expiresAt: undefined,
  revokedAt: undefined,
  lastUsedAt: undefined,
  lastDeprecatedCallAt: undefined,
};
const BODY = '{"name":"Rex","categoryId":1}';
const REX = { name: 'Rex', categoryId: 1n, status: 'sold' } as const;
/** A request of the interface and two of the console, each with the code for a body that is not what it must be. */
const TARGETS: readonly [target: string, type: string, body: string, code: ErrorCode][] = [
  ['/v1/pets', 'application/json', BODY, 'invalid_json'],
  [
    '/console/pets/1/change',
    'application/json',
    `{"from":${BODY.replace('}', ',"status":"available"}')},"to":{}}`,
    'invalid_json',
  ],
  ['/console/import', 'text/plain', BODY, 'invalid_field'],
];

/** What can be wrong with a request, in the order in which it is checked. */
const FAULTS: [fault: string, code: ErrorCode, spoil: (sent: Spoilable) => void][] = [
  ['no key', 'missing_api_key', (sent) => delete sent.headers['authorization']],
  [
    'a path that does not exist',
    'route_not_found',
    (sent) => (sent.target = sent.target.replace(/pets|import/, 'none')),
  ],
  ['a method that the path lacks', 'method_not_allowed', (sent) => (sent.method = 'PUT')],
  ['a key without the scope', 'insufficient_scope', (sent) => (sent.scopes = ['pets:read'])],
  ['a limit that is used up', 'rate_limited', (sent) => (sent.left = -1)],
  [
    'another media type',
    'unsupported_media_type',
    (sent) => (sent.headers['content-type'] = 'text/html'),
  ],
  ['a body over 64 KiB', 'body_too_large', (sent) => (sent.isTooLarge = true)],
  ['a body that is not JSON', 'invalid_json', (sent) => (sent.body = '{')],
];

interface Spoilable {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: string;
  isTooLarge: boolean;
  scopes: ApiKey['scopes'];
  left: number;
  fault?: Refusal;
}

function newSent([target, type, body] = TARGETS[0] ?? ['', '', '']): Spoilable {
  return {
    method: 'POST',
    target,
    headers: { authorization: 'Bearer a', 'content-type': type },
    body,
    isTooLarge: false,
    scopes: KEY.scopes,
    left: 1,
  };
}

const codeOf = ({ body }: HttpResponse) => (JSON.parse(body) as { code?: string }).code;
/** The uses of keys that a request records. */
function recordUses(now = new Date(0)) {
  const uses: [id: string, use: KeyUse][] = [];
  const recordKeyUse: KeyStore['recordKeyUse'] = async (recorded) => {
    uses.push(...recorded);
  };
  const clock = { now: () => now, elapsedMs: () => 0 };
  return { uses, clock, keyUses: new KeyUses({ recordKeyUse }, clock) };
}

const fail = () => Promise.reject(new Error('secret path /srv/store'));

describe('App.handle', () => {
  let store: Store;
  let folder: string;

  before(() => {
    folder = temporaryFolder();
    store = openSqliteStore(join(folder, 'petstore.sqlite'), NEW_STORE);
  });
  after(async () => {
    await store.close();
  });

  const listAll = () => listPets(store, { status: undefined, afterId: 0n, count: 1_000 });

  async function handle(sent: Spoilable, parts: Partial<AppParts> = {}): Promise<HttpResponse> {
    const clock = {
      now: () => new Date('2026-11-15T00:00:00Z'),
      elapsedMs: () => performance.now(),
    };
    const app = new App({
      store,
      authenticate: async ({ headers }) => {
        if (headers.authorization === undefined) throw new Refusal('missing_api_key', 'no key');
        return { ...KEY, scopes: sent.scopes };
      },
      countRequest: async () => ({
        limit: { requests: 5, windowSeconds: 1 },
        left: sent.left,
        secondsLeft: 1,
      }),
      keyUses: new KeyUses(store, clock),
      cors: undefined,
      pages: new Map(),
      cache: new ResponseCache(store),
      clock,
      baseUrl: 'http://pets.example/v1',
      metrics: new Metrics([]),
      log: openLog('silent', { write: () => undefined }),
      newRequestId: () => 'made',
      ...parts,
    });
    const request: HttpRequest = {
      method: sent.method,
      target: sent.target,
      headers: sent.headers,
      fault: sent.fault,
      readBody: async () => {
        if (sent.isTooLarge) throw new Refusal('body_too_large', 'too large');
        return Buffer.from(sent.body);
      },
    };
    return app.handle(request);
  }

  /** How many lines the log gets from a request of that duration. */
  async function linesFor(
    durationMs: number,
    parts: Partial<AppParts> = {},
    sent = newSent(),
  ): Promise<number> {
    const lines: string[] = [];
    const log = openLog('info', { write: (line: string) => lines.push(line) });
    let calls = 0;
    const clock = {
      now: () => new Date('2026-11-15T00:00:00Z'),
      elapsedMs: () => 5_000 + durationMs * calls++,
    };
    await handle(sent, { log, clock, ...parts });
    return lines.length;
  }

  test('a request without a fault is 201', async () => {
    assert.equal((await handle(newSent())).status, 201);
  });

  for (const [index, [fault, code, spoil]] of FAULTS.entries()) {
    test(`${fault} is ${code}, whatever else is wrong with what is checked later`, async () => {
      for (const target of TARGETS) {
        const expected = code === 'invalid_json' ? target[3] : code;
        const alone = newSent(target);
        spoil(alone);
        assert.equal(codeOf(await handle(alone)), expected);
        for (const [later, , spoilLater] of FAULTS.slice(index + 1)) {
          const both = newSent(target);
          spoilLater(both);
          spoil(both);
          assert.equal(codeOf(await handle(both)), expected, `with ${later}`);
        }
      }
    });
  }

  test('of five lists at once, four are read, and one is refused as overloaded', async () => {
    const lists = Array.from({ length: 5 }, (_, index) =>
      handle({ ...newSent(TARGETS[2]), target: '/console/import?dry-run', body: `[${index}]` }),
    );
    const statuses = (await Promise.all(lists)).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 503]);
  });

  test('a key that is revoked before the body ends changes and adds nothing', async () => {
    const stored = await listAll();
    for (const target of TARGETS) {
      let checks = 0;
      const authenticate = async () => {
        checks += 1;
        if (checks === 1) return KEY;
        throw new Refusal('invalid_api_key', 'revoked');
      };
      assert.equal(codeOf(await handle(newSent(target), { authenticate })), 'invalid_api_key');
    }
    assert.deepEqual(await listAll(), stored);
  });

  test('of many lists at once, four are read, and the others refused; then others are read again', async () => {
    const list = newSent(TARGETS.find(([target]) => target === '/console/import'));
    const sent = { ...list, target: `${list.target}?dry-run` };
    for (const round of [1, 2]) {
      const codes = (await Promise.all(Array.from({ length: 6 }, () => handle(sent)))).map(codeOf);
      const refused = codes.filter((code) => code === 'overloaded');
      assert.deepEqual([refused.length, codes.indexOf(undefined)], [2, 0], `round ${round}`);
    }
  });

  test('a refused create stores nothing', async () => {
    const stored = (await listAll()).length;
    for (const [, , spoil] of FAULTS) {
      const sent = newSent();
      spoil(sent);
      await handle(sent);
    }
    assert.equal((await listAll()).length, stored);
  });

  test('an unexpected error is 500 internal_error, and tells nothing of the inside', async () => {
    const response = await handle(newSent(), { authenticate: fail });
    assert.equal(response.status, 500);
    assert.equal(codeOf(response), 'internal_error');
    assert.ok(!response.body.includes('/srv'));
  });

  test('requests that take a second or fail are logged, and no others', async () => {
    assert.equal(await linesFor(999), 0);
    assert.equal(await linesFor(1_000), 1);
    assert.equal(await linesFor(0, { authenticate: fail }), 1);
  });

  test('a request that is not valid HTTP has its status and no line', async () => {
    const fault = new Refusal('not_implemented', 'The only supported transfer coding is chunked.');
    const sent = { ...newSent(), fault };
    assert.equal((await handle(sent)).status, 501);
    assert.equal(await linesFor(0, {}, sent), 0);
  });

  test('every response with an error is counted by its code, except a page that is not ready', async () => {
    const metrics = new Metrics([]);
    for (const [, , spoil] of FAULTS) {
      const sent = newSent();
      spoil(sent);
      await handle(sent, { metrics });
    }
    await handle(newSent(), { metrics });
    await handle(newSent(), { metrics, authenticate: fail });
    const unavailable = errorResponse('unavailable', 'The service is not ready.');
    const pages = new Map([['/readyz', () => unavailable]]);
    const probe = { ...newSent(), method: 'GET', target: '/readyz' };
    assert.equal((await handle(probe, { metrics, pages })).status, 503);
    const figure = metrics.figures().find(({ name }) => name === 'petstore_errors_total');
    const counted = figure?.values.filter(({ value }) => value !== 0) ?? [];
    assert.deepEqual(
      new Map(counted.map(({ labels, value }) => [labels['code'], value])),
      new Map([...FAULTS.map(([, code]) => code), 'internal_error'].map((code) => [code, 1])),
    );
  });

  test('a request with an accepted key is a use of the key, and one for getPet is a deprecated call', async () => {
    const get = { ...newSent(), method: 'GET', target: '/v1/pets/1' };
    const usedAt = new Date(0);
    for (const [sent, expected] of [
      [newSent(), [[KEY.id, { usedAt, deprecatedCallAt: undefined }]]],
      [get, [[KEY.id, { usedAt, deprecatedCallAt: usedAt }]]],
      [{ ...get, headers: {} }, []],
    ] as const) {
      const { uses, keyUses } = recordUses();
      await handle(sent, { keyUses });
      await keyUses.close();
      assert.deepEqual(uses, expected);
    }
  });

  for (const [fault, , spoil] of FAULTS.slice(1)) {
    test(`a request with an accepted key counts towards the limit and as a use of the key, also with ${fault}`, async () => {
      const counted: string[] = [];
      const { uses, keyUses } = recordUses();
      const sent = newSent();
      spoil(sent);
      const countRequest = async (id: string) => {
        counted.push(id);
        return { limit: { requests: 5, windowSeconds: 1 }, left: sent.left, secondsLeft: 1 };
      };
      await handle(sent, { keyUses, countRequest });
      await keyUses.close();
      assert.deepEqual([counted, uses.map(([id]) => id)], [[KEY.id], [KEY.id]]);
    });
  }

  test('a call of the removed operation is still a deprecated call of the key', async () => {
    const now = new Date('2031-01-01T00:00:00Z');
    const { uses, clock, keyUses } = recordUses(now);
    const sent = { ...newSent(), method: 'GET', target: '/v1/pets/1' };
    assert.equal((await handle(sent, { clock, keyUses })).status, 410);
    await keyUses.close();
    assert.deepEqual(uses, [[KEY.id, { usedAt: now, deprecatedCallAt: now }]]);
  });

  test('a strict caller is refused for a target whose response to others is cached, and the others are not', async () => {
    const cache = new ResponseCache(store);
    const sent = { ...newSent(), method: 'GET', target: '/v1/pets?offset=3' };
    const strict = { ...sent, headers: { ...sent.headers, prefer: 'handling=strict' } };
    const statuses = [];
    for (const each of [sent, sent, sent, strict, strict, strict, sent]) {
      statuses.push((await handle(each, { cache })).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 400, 400, 400, 200]);
  });

  test('after a create an animal and a page that another follows still come from the cache, and the last page does not', async () => {
    await store.importPets([REX, REX]);
    const cache = new ResponseCache(store);
    const get = async (target: string) => {
      const hits = cache.figures()[0]?.values[0]?.value;
      await handle({ ...newSent(), method: 'GET', target }, { cache });
      return cache.figures()[0]?.values[0]?.value !== hits;
    };
    for (const [target, isKept] of [
      ['/v1/pets/1', true],
      ['/v1/pets?limit=1', true],
      ['/v1/pets', false],
      ['/v1/pets?limit=1&cursor=last', false],
    ] as const) {
      for (let time = 0; time < 2; time += 1) await get(target);
      assert.equal(await get(target), true);
      await store.createPet(REX);
      assert.equal(await get(target), isKept, target);
    }
  });

  test('a repeated create is not counted as another animal', async () => {
    const metrics = new Metrics([]);
    const { headers, ...sent } = newSent();
    const claimed = { ...sent, headers: { ...headers, 'idempotency-key': 'counted-once' } };
    await store.createApiKey(KEY);
    for (const each of [claimed, claimed, newSent()]) {
      assert.equal((await handle(each, { metrics })).status, 201);
    }
    assert.equal(metrics.petsCreated, 2);
  });

  test('an asterisk is a target only of OPTIONS', async () => {
    const sent = { ...newSent(), target: '*' };
    assert.equal((await handle({ ...sent, method: 'OPTIONS' })).status, 204);
    assert.equal(codeOf(await handle({ ...sent, method: 'GET' })), 'route_not_found');
  });

  test('the page of a deprecation is below the base URL without its last /v1', () => {
    const getPet = operations.find(({ id }) => id === 'getPet');
    assert.ok(getPet);
    const link = deprecationHeaders(getPet, 'https://pets.example/v1/store/v1').at(-1);
    assert.match(String(link), /<https:\/\/pets\.example\/v1\/store\/docs\/deprecations>/);
  });

  test('the headers of a deprecated operation are on all its responses and on no other', async () => {
    const get = { ...newSent(), method: 'GET', target: '/v1/pets/1' };
    const missing = { ...get, headers: {} };
    for (const sent of [get, missing]) {
      assert.ok((await handle(sent)).moreHeaders?.flat().includes('Deprecation'), sent.target);
    }
    for (const sent of [newSent(), { ...get, target: '/v1/pets' }]) {
      assert.ok(!(await handle(sent)).moreHeaders?.flat().includes('Deprecation'), sent.target);
    }
  });

  test('every request that is counted as started is counted as ended', async () => {
    const metrics = new Metrics([]);
    for (const [, , spoil] of FAULTS) {
      const sent = newSent();
      spoil(sent);
      await handle(sent, { metrics });
    }
    assert.equal(metrics.inFlight, 0);
  });
});

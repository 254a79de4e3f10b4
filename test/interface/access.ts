import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newSecret } from '../../src/domain/api-key.ts';
import { routes } from '../../src/http/router.ts';
import {
  startTestService,
  send,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { assertError } from './errors.ts';

const REX = '{"name":"Rex","categoryId":7}';
const CHALLENGE = 'Bearer realm="petstore"';
const OPERATIONS = [
  ['GET', '/pets'],
  ['POST', '/pets'],
  ['GET', '/pets/1'],
] as const;

function as(authorization: string | string[]) {
  return { headers: { authorization } };
}

export function accessTests(storage: TestStorage): void {
  describe(`Access on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;

    before(async () => {
      service = await startTestService(storage);
    });
    after(() => service.close());

    for (const [method, path] of OPERATIONS) {
      test(`${method} ${path} without a key is 401 with a challenge`, async () => {
        const refused = await service.send(path, { method, ...as('') });
        assertError(refused, 'missing_api_key', /Authorization: Bearer/);
        assert.equal(refused.headers['www-authenticate'], CHALLENGE);
      });

      test(`${method} ${path} with an unknown key is 401 invalid_token`, async () => {
        const unknown = newSecret('production', () => new Uint8Array(30).fill(7));
        const refused = await service.send(path, { method, ...as(`Bearer ${unknown}`) });
        assertError(refused, 'invalid_api_key');
        assert.equal(refused.headers['www-authenticate'], `${CHALLENGE}, error="invalid_token"`);
      });
    }

    test('the Bearer scheme is accepted in any case, followed by any number of spaces', async () => {
      for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
        assert.equal((await service.send('/pets', as(`${scheme} ${service.key}`))).status, 200);
      }
    });

    test('two Authorization headers, two tokens or an empty token are 401', async () => {
      const twice = as([`Bearer ${service.key}`, `Bearer ${service.key}`]);
      assertError(await service.send('/pets', twice), 'invalid_api_key');
      assertError(
        await service.send('/pets', as(`Bearer ${service.key} ${service.key}`)),
        'invalid_api_key',
      );
      assertError(await service.send('/pets', as('Bearer ')), 'invalid_api_key');
      assertError(await service.send('/pets', as('Bearer')), 'invalid_api_key');
    });

    test('the Basic scheme, a key without a scheme and a key in the query are 401', async () => {
      assertError(await service.send('/pets', as('Basic cGV0OnN0b3Jl')), 'missing_api_key');
      const bare = await service.send('/pets', as(service.key));
      assertError(bare, 'missing_api_key', /Send it as "Authorization: Bearer <API_KEY>"/);
      const query = `/pets?api_key=${service.key}&access_token=${service.key}`;
      assertError(await service.send(query, as('')), 'missing_api_key');
    });

    test('a key with one wrong character is 401 with a message that calls it malformed', async () => {
      const wrong = service.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
      assertError(
        await service.send('/pets', as(`Bearer ${wrong}`)),
        'invalid_api_key',
        /malformed/,
      );
    });

    test('a staging key is 401 in production', async () => {
      const staging = newSecret('staging', () => new Uint8Array(30).fill(9));
      assertError(
        await service.send('/pets', as(`Bearer ${staging}`)),
        'invalid_api_key',
        /staging/,
      );
    });

    test('an expired key is 401 expired_api_key from the moment it expires', async () => {
      const expiresAt = new Date('2028-01-01T00:00:00Z');
      const key = await service.addKey({ expiresAt });
      service.setNow(new Date(expiresAt.getTime() - 1));
      assert.equal((await service.send('/pets', as(`Bearer ${key}`))).status, 200);
      service.setNow(expiresAt);
      const refused = await service.send('/pets', as(`Bearer ${key}`));
      assertError(refused, 'expired_api_key');
      assert.match(String(refused.headers['www-authenticate']), /error="invalid_token"/);
    });

    for (const [whose, date] of [
      ['before now', '2026-11-14T00:00:00Z'],
      ['ahead of the clock of this machine', '2099-01-01T00:00:00Z'],
    ] as const) {
      test(`a key with a revocation time ${whose} is 401`, async () => {
        const key = await service.addKey({ revokedAt: new Date(date) });
        assertError(await service.send('/pets', as(`Bearer ${key}`)), 'invalid_api_key', /revoked/);
      });
    }

    test('a read-only key can list and get; POST is 403, and nothing is stored', async () => {
      const listBefore = (await service.send('/pets')).text;
      const authorization = `Bearer ${await service.addKey({ scopes: ['pets:read'] })}`;
      assert.equal((await service.send('/pets', as(authorization))).status, 200);
      const refused = await service.send('/pets', {
        method: 'POST',
        body: REX,
        ...as(authorization),
      });
      assertError(refused, 'insufficient_scope', /pets:write/);
      assert.equal(
        refused.headers['www-authenticate'],
        `${CHALLENGE}, error="insufficient_scope", scope="pets:write"`,
      );
      assert.equal((await service.send('/pets')).text, listBefore);
    });

    test('a write-only key can create; list is 403', async () => {
      const authorization = `Bearer ${await service.addKey({ scopes: ['pets:write'] })}`;
      assert.equal(
        (await service.send('/pets', { method: 'POST', body: REX, ...as(authorization) })).status,
        201,
      );
      assertError(
        await service.send('/pets', as(authorization)),
        'insufficient_scope',
        /pets:read/,
      );
    });

    test('under /v1 a request without a key is 401, also for unknown paths and methods', async () => {
      for (const [method, path] of [
        ['GET', '/nothing'],
        ['DELETE', '/pets'],
        ['PUT', '/pets/1'],
        ['OPTIONS', '/nothing'],
        ['GET', ''],
      ] as const) {
        assertError(await service.send(path, { method, ...as('') }), 'missing_api_key');
      }
    });

    test('with a key, an unknown path is 404 and an unsupported method is 405 with Allow', async () => {
      for (const path of [
        '/nothing',
        '',
        '/',
        '/pets/',
        '/pets/1/photos',
        '/Pets',
        '//pets',
        '/store/orders',
        '/categories',
      ]) {
        assertError(await service.send(path), 'route_not_found');
      }
      for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
        const refused = await service.send('/pets', { method });
        assertError(refused, 'method_not_allowed');
        assert.equal(refused.headers.allow, 'GET, HEAD, POST, OPTIONS');
      }
      const refused = await service.send('/pets/1', { method: 'DELETE' });
      assertError(refused, 'method_not_allowed');
      assert.equal(refused.headers.allow, 'GET, HEAD, OPTIONS');
    });

    test('OPTIONS without a key is 204 with Allow', async () => {
      const pets = await service.send('/pets', { method: 'OPTIONS', ...as('') });
      assert.equal(pets.status, 204);
      assert.equal(pets.headers.allow, 'GET, HEAD, POST, OPTIONS');
      const pet = await service.send('/pets/1', { method: 'OPTIONS', ...as('') });
      assert.equal(pet.headers.allow, 'GET, HEAD, OPTIONS');
    });

    test('the checks run in this order: 401, 404, 405, 403, 415, 413, 400', async () => {
      const readOnly = `Bearer ${await service.addKey({ scopes: ['pets:read'] })}`;
      const wrongInEveryWay = {
        method: 'POST',
        body: 'x'.repeat(70_000),
        headers: { 'content-type': 'text/plain' },
      };
      const withHeaders = (more: Record<string, string>) => ({
        ...wrongInEveryWay,
        headers: { ...wrongInEveryWay.headers, ...more },
      });
      assertError(
        await service.send('/pets', withHeaders({ authorization: '' })),
        'missing_api_key',
      );
      assertError(await service.send('/nothing', withHeaders({})), 'route_not_found');
      assertError(await service.send('/pets/1', withHeaders({})), 'method_not_allowed');
      assertError(
        await service.send('/pets', withHeaders({ authorization: readOnly })),
        'insufficient_scope',
      );
      assertError(await service.send('/pets', withHeaders({})), 'unsupported_media_type');
      assertError(
        await service.send('/pets', withHeaders({ 'content-type': '' })),
        'body_too_large',
      );
      assertError(await service.send('/pets', { method: 'POST', body: 'x' }), 'invalid_json');
    });

    test('an unknown parameter is refused after an unsupported media type', async () => {
      const strict = { prefer: 'handling=strict', 'content-type': 'text/plain' };
      const sent = { method: 'POST', body: REX, headers: strict };
      assertError(await service.send('/pets?zz=1', sent), 'unsupported_media_type');
      const json = { ...sent, headers: { prefer: 'handling=strict' } };
      assertError(await service.send('/pets?zz=1', json), 'unknown_parameter', /zz/);
    });

    test('a valid X-Request-Id is used, otherwise one is generated; the log has the id', async () => {
      const taken = await service.send('/pets', { headers: { 'x-request-id': 'order.7_a-B' } });
      assert.equal(taken.headers['x-request-id'], 'order.7_a-B');
      assert.ok(service.logLines.some((line) => line.includes('order.7_a-B')));
      for (const bad of ['a b', 'x'.repeat(129), 'ü']) {
        const made = await service.send('/pets', { headers: { 'x-request-id': bad } });
        assert.match(String(made.headers['x-request-id']), /^[\w.-]{1,128}$/);
        assert.notEqual(made.headers['x-request-id'], bad);
      }
    });

    test('the log has the traceparent of the request', async () => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      await service.send('/pets', { headers: { traceparent } });
      assert.ok(service.logLines.some((line) => line.includes('4bf92f3577b34da6a3ce929d0e0e4736')));
    });

    test('no API key, body or Authorization header is logged', async () => {
      await service.send('/pets', {
        method: 'POST',
        body: '{"name":"A secret name","categoryId":1}',
      });
      const log = service.logLines.join('');
      assert.match(log, /"operation":"createPet"/, 'the request itself is logged');
      assert.ok(!log.includes(service.key));
      assert.ok(!log.includes('Bearer'));
      assert.ok(!log.includes('A secret name'));
    });

    test('D46: the message of a path that does not exist names the paths of the interface, and nothing of the request', async () => {
      const site = service.baseUrl.replace('/v1', '');
      const keyed = { headers: { authorization: `Bearer ${service.key}` } };
      const paths = routes.map(({ path }) => path).join(' and ');
      const message = `The path does not exist. The interface has ${paths}; /docs describes it.`;
      for (const path of ['/pets', '/v1/pets/', '/v1/pets/7/', '/doc', '/<script>1</script>']) {
        const refused = await send(site + path, keyed);
        assertError(refused, 'route_not_found');
        assert.equal((refused.json() as { message: string }).message, message, path);
        // Without a key, nobody learns which paths exist under /v1.
        const code = path.startsWith('/v1/') ? 'missing_api_key' : 'route_not_found';
        assertError(await send(site + path), code);
      }
    });

    test('D46: a key in the wrong place is missing, and the message names the right header', async () => {
      for (const [path, headers] of [
        ['/pets', { 'x-api-key': service.key }],
        [`/pets?api_key=${service.key}`, {}],
        ['/pets', { authorization: `Basic ${btoa(`${service.key}:`)}` }],
      ] as const) {
        const refused = await send(service.baseUrl + path, { headers });
        assertError(refused, 'missing_api_key', /Send it as "Authorization: Bearer <API_KEY>"\.$/);
        assert.ok(!refused.text.includes(service.key));
      }
    });

    test('paths outside /v1 need no key, and their errors have the same body', async () => {
      const site = service.baseUrl.replace('/v1', '');
      for (const path of [
        '/',
        '/docs',
        '/docs/deprecations',
        '/openapi.json',
        '/livez',
        '/readyz',
      ]) {
        assert.equal((await send(site + path)).status, 200, path);
        assert.equal((await send(site + path, { method: 'HEAD' })).text, '', path);
      }
      const document = (await send(`${site}/openapi.json`)).json();
      assert.partialDeepStrictEqual(document, { servers: [{ url: '/v1' }] });
      assertError(
        await send(`${site}/nothing`),
        'route_not_found',
        /The interface has \/v1\/pets and /,
      );
      assertError(await send(`${site}/openapi.json`, { method: 'POST' }), 'method_not_allowed');
    });
  });
}

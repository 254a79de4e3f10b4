import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  startTestService,
  send,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { assertError } from './errors.ts';

/** test/golden/requests.txt has what a key may do, and how a request without one is refused. */
export function accessTests(storage: TestStorage): void {
  describe(`Access on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;

    before(async () => {
      service = await startTestService(storage);
    });
    after(() => service.close());

    test('the log has the id of the request, or the one that was generated', async () => {
      for (const id of ['order.7_a-B', 'not an id']) {
        const { headers } = await service.send('/pets', { headers: { 'x-request-id': id } });
        const used = String(headers['x-request-id']);
        assert.ok(service.logLines.some((line) => line.includes(`"${used}"`)));
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

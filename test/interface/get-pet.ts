import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  linksOf,
  startTestService,
  type Received,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { assertError } from './errors.ts';

export function getPetTests(storage: TestStorage): void {
  describe(`GET /v1/pets/{petId} on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;

    before(async () => {
      service = await startTestService(storage);
      await service.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
    });
    after(() => service.close());

    test('200 with the animal and the deprecation headers', async () => {
      const found = await service.send('/pets/1');
      assert.equal(found.status, 200);
      assert.equal(found.text, '{"id":1,"name":"Rex","categoryId":7,"status":"available"}');
      assertDeprecated(found);
    });

    test('the Deprecation date is 14 November 2026, the date of interface 1.0.0', async () => {
      const { deprecation } = (await service.send('/pets/1')).headers;
      const seconds = Number(/^@(\d+)$/.exec(String(deprecation))?.[1]);
      assert.equal(new Date(seconds * 1000).toISOString(), '2026-11-14T00:00:00.000Z');
    });

    test('404 pet_not_found for an id that was never assigned', async () => {
      const missing = await service.send('/pets/2');
      assertError(missing, 'pet_not_found');
      assertDeprecated(missing);
    });

    for (const id of [
      '0',
      '-1',
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775808',
      '99999999999999999999',
      'rex',
      '1.0',
      '1e0',
      '+1',
      '01',
      '%20',
      '1%2F',
      '%',
      '1%00',
      "1'--",
    ]) {
      test(`404 pet_not_found for the id ${id}`, async () => {
        assertError(await service.send(`/pets/${id}`), 'pet_not_found');
      });
    }

    test('200 for an id with a percent-encoded digit', async () => {
      assert.equal((await service.send('/pets/%31')).status, 200);
    });

    test('400 for an unknown query parameter with Prefer: handling=strict', async () => {
      const strict = { headers: { prefer: 'handling=strict' } };
      assert.equal((await service.send('/pets/1?zz=1')).status, 200);
      assertError(await service.send('/pets/1?zz=1', strict), 'unknown_parameter', /zz/);
    });

    test('401 has the deprecation headers too, as every response of the operation', async () => {
      const refused = await service.send('/pets/1', { headers: { authorization: '' } });
      assertError(refused, 'missing_api_key');
      assertDeprecated(refused);
    });

    test('HEAD has the headers of GET and no body; If-None-Match with the ETag is 304', async () => {
      const found = await service.send('/pets/1');
      const head = await service.send('/pets/1', { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      assert.equal(head.headers['content-length'], String(found.text.length));
      assert.match(String(found.headers.etag), /^"[\w-]+"$/);
      assert.equal(head.headers.etag, found.headers.etag);
      assertDeprecated(head);
      const known = { headers: { 'if-none-match': String(found.headers.etag) } };
      assert.equal((await service.send('/pets/1', known)).status, 304);
    });

    test('200 before 2030-12-05T00:00:00Z; from then on 410, and creates have no Location', async () => {
      service.setNow(new Date('2030-12-04T23:59:59Z'));
      const last = await service.send('/pets/1');
      assert.equal(last.status, 200);
      assertDeprecated(last);
      const body = '{"name":"Rex","categoryId":7}';
      const pointed = await service.send('/pets', { method: 'POST', body });
      assert.equal(pointed.headers['location'], '/v1/pets/2');

      service.setNow(new Date('2030-12-05T00:00:00Z'));
      const removed = await service.send('/pets/1');
      assertError(removed, 'operation_removed', /removed on 2030-12-05; use GET \/pets with/);
      assertDeprecated(removed);
      assertError(await service.send('/pets/rex'), 'operation_removed');
      const created = await service.send('/pets', { method: 'POST', body });
      assert.equal(created.status, 201);
      assert.equal(created.headers['location'], undefined);

      const options = await service.send('/pets/1', { method: 'OPTIONS' });
      assert.equal(options.headers['allow'], 'OPTIONS');
      const refused = await service.send('/pets/1', { method: 'DELETE' });
      assertError(refused, 'method_not_allowed', /supports only OPTIONS/);
      assert.equal(refused.headers['allow'], 'OPTIONS');
    });
  });
}

function assertDeprecated(response: Received): void {
  assert.equal(response.headers['deprecation'], '@1794614400');
  assert.equal(response.headers['sunset'], 'Thu, 05 Dec 2030 00:00:00 GMT');
  assert.deepEqual(linksOf(response), {
    'successor-version': '/v1/pets',
    deprecation: '/docs/deprecations',
  });
  assert.match(String(response.headers.link), /rel="deprecation"; type="text\/html"/);
}

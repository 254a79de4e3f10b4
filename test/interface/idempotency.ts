import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  startTestService,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { assertError } from './errors.ts';

const REX = '{"name":"Rex","categoryId":7}';
const HOUR_MS = 3_600_000;

export function idempotencyTests(storage: TestStorage): void {
  describe(`Idempotency-Key on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;
    const post = (key: string, body = REX, authorization?: string) =>
      service.send('/pets', {
        method: 'POST',
        body,
        headers: { 'idempotency-key': key, ...(authorization && { authorization }) },
      });

    before(async () => {
      service = await startTestService(storage, { now: new Date('2027-01-01T00:00:00Z') });
    });
    after(() => service.close());

    test('a repeated create gets the same 201 and body with Idempotency-Replayed, and stores nothing', async () => {
      const first = await post('order-1');
      const again = await post('order-1');
      assert.equal(first.status, 201);
      assert.equal(first.headers['idempotency-replayed'], undefined);
      assert.equal(again.status, 201);
      assert.equal(again.text, first.text);
      assert.equal(again.headers['location'], first.headers['location']);
      assert.equal(again.headers['idempotency-replayed'], 'true');
      assert.equal((await service.send('/pets?limit=100')).text, `[${first.text}]`);
    });

    test('a quoted key equals the same key without quotes, and white space in the body is ignored', async () => {
      const first = await post('"order-2"');
      const again = await post(
        'order-2',
        '{ "categoryId": 7, "name": "Rex", "status": "available" }',
      );
      assert.equal(again.text, first.text);
      assert.equal(again.headers['idempotency-replayed'], 'true');
    });

    test('concurrent creates with the same key store one animal', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post('order-3')));
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
      assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
      const originals = responses.filter(
        ({ headers }) => headers['idempotency-replayed'] === undefined,
      );
      assert.equal(originals.length, 1);
    });

    test('422 when the key was used for a different animal, and nothing is stored', async () => {
      await post('order-4');
      const listBefore = (await service.send('/pets?limit=100')).text;
      assertError(await post('order-4', '{"name":"Max","categoryId":7}'), 'idempotency_key_reused');
      assert.equal((await service.send('/pets?limit=100')).text, listBefore);
    });

    test('two API keys can use the same idempotency key for different animals', async () => {
      const first = await post('order-5');
      const other = await post('order-5', REX, `Bearer ${await service.addKey({})}`);
      assert.equal(other.status, 201);
      assert.notEqual(other.text, first.text);
      assert.equal(other.headers['idempotency-replayed'], undefined);
    });

    test('a key and those that rotate made from it share the creates that happen once', async () => {
      // Other keys may have been created in the same millisecond, so the order does not tell.
      const first = (await service.listKeys()).find(({ name }) => name === 'first key');
      const successor = `Bearer ${await service.addKey({ firstKeyId: first?.id ?? '' })}`;
      const created = await post('order-8');
      const again = await post('order-8', REX, successor);
      assert.equal(again.text, created.text);
      assert.equal(again.headers['idempotency-replayed'], 'true');
      const theirs = await post('order-9', REX, successor);
      assert.equal((await post('order-9')).text, theirs.text);
    });

    test('the key of a refused create can be used again', async () => {
      assertError(await post('order-6', '{"name":""}'), 'missing_field');
      const first = await post('order-6');
      assert.equal(first.status, 201);
      assert.equal(first.headers['idempotency-replayed'], undefined);
    });

    test('a key is kept for 24 hours and can then be used again', async () => {
      const start = new Date('2027-02-01T00:00:00Z');
      service.setNow(start);
      const first = await post('order-7');
      service.setNow(new Date(start.getTime() + 24 * HOUR_MS - 1));
      assert.equal((await post('order-7')).text, first.text);
      service.setNow(new Date(start.getTime() + 24 * HOUR_MS));
      const second = await post('order-7');
      assert.equal(second.status, 201);
      assert.notEqual(second.text, first.text);
    });

    for (const [why, key] of [
      ['256 characters', 'x'.repeat(256)],
      ['a space', 'a b'],
      ['nothing between the quotes', '""'],
      ['characters beyond ASCII', 'schl\u00fcssel'],
    ] as const) {
      test(`400 invalid_idempotency_key for ${why}`, async () => {
        assertError(await post(key), 'invalid_idempotency_key', /Idempotency-Key must/);
      });
    }

    test('a key of 255 characters is accepted; two Idempotency-Key headers are 400', async () => {
      assert.equal((await post('y'.repeat(255))).status, 201);
      const twice = await service.send('/pets', {
        method: 'POST',
        body: REX,
        headers: { 'idempotency-key': ['a', 'b'] },
      });
      assertError(twice, 'invalid_idempotency_key');
    });
  });
}

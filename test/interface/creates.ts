import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import {
  startTestService,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';

const REX = '{"name":"Rex","categoryId":7}';

/** What one request after the other cannot show. test/golden/requests.txt has the rest. */
export function createTests(storage: TestStorage): void {
  describe(`POST /v1/pets on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;
    const post = (body: string, headers: Record<string, string> = {}) =>
      service.send('/pets', { method: 'POST', body, headers });

    const create = async () => Number(/"id":(\d+)/.exec((await post(REX)).text)?.[1]);

    before(async () => {
      service = await startTestService(storage);
    });
    after(() => service.close());

    test('ids begin at 1 and are unique, also for concurrent creates', async () => {
      const first = await create();
      const together = await Promise.all(Array.from({ length: 50 }, create));
      const last = await create();
      assert.equal(first, 1);
      assert.equal(new Set(together).size, 50);
      assert.ok(
        together.every((id) => id > first && id < last),
        `${together.join()} before ${last}`,
      );
    });

    test('concurrent creates with the same key store one animal', async () => {
      const once = { 'idempotency-key': 'order-3' };
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(REX, once)));
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
      assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
      const originals = responses.filter(
        ({ headers }) => headers['idempotency-replayed'] === undefined,
      );
      assert.equal(originals.length, 1);
    });

    test('a name with any characters is returned exactly as sent', async () => {
      const characters = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 255 });
      await fc.assert(
        fc.asyncProperty(
          characters.filter((name) => !name.includes('\0')),
          async (name) => {
            const created = await post(JSON.stringify({ name, categoryId: 1 }));
            assert.equal(created.status, 201, created.text);
            const { id, name: returned } = created.json() as { id: number; name: string };
            assert.equal(returned, name);
            const found = (await service.send(`/pets/${id}`)).json() as { name: string };
            assert.equal(found.name, name);
          },
        ),
        { numRuns: 30 },
      );
    });
  });
}

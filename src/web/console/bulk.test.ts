import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetStoreError, type Pets } from '../../../sdk/src/index.ts';
import { BulkAdd, type Phase, type Row } from './page/bulk.ts';

const rowOf = (line: number): Row => ({
  line,
  pet: { name: `Rex ${line}`, categoryId: 7n, status: 'available' },
  idempotencyKey: `key-${line}`,
});

for (const status of [401, 403]) {
  test(`after a ${status} a bulk add is paused, and continues with the same animal and another key`, async () => {
    const rows = [rowOf(1), rowOf(2)];
    const keys: (string | undefined)[] = [];
    const phases: Phase['name'][] = [];
    const create: Pets['create'] = async (_pet, options) => {
      keys.push(options?.idempotencyKey);
      if (keys.length === 2) throw new PetStoreError('insufficient_scope', 'No.', { status });
      return { id: BigInt(keys.length), name: 'Rex', categoryId: 7n, status: 'available' };
    };
    const on = { phase: ({ name }: Phase) => phases.push(name), added: () => undefined };
    const bulk = new BulkAdd(rows, create, on);
    await bulk.run();
    assert.equal(bulk.done, 1);
    await bulk.run();
    assert.deepEqual(phases, ['running', 'paused', 'running', 'done']);
    assert.deepEqual(keys, ['key-1', 'key-2', 'key-2']);
    assert.ok(rows.every(({ id, refusal }) => id !== undefined && refusal === undefined));
  });
}

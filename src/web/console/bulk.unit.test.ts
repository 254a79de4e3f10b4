import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetStoreError, type NewPet } from '../../../sdk/src/index.ts';
import { BulkAdd, type Phase, type Row } from './page/bulk.ts';

const LOST = new PetStoreError('connection_lost', 'Gone.');

const rowOf = (line: number): Row => ({
  line,
  pet: { name: `Rex ${line}`, categoryId: 7n, status: 'available' },
  occurrence: 1,
  idempotencyKey: `key-${line}`,
  isSeen: false,
});

const refusal = (status: number, retryAfterMs?: number) =>
  new PetStoreError('some_code', `Status ${status}.`, { status, retryAfterMs });

/** Each request fails with the next of the errors. Without one, the animal is added. */
function newBulk(
  count: number,
  errors: (Error | undefined)[],
  onPhase: (bulk: BulkAdd, phase: Phase) => void = () => undefined,
  replays: { isReplay?: boolean; isFirstAttempt?: boolean } = {},
) {
  const rows = Array.from({ length: count }, (_, index) => rowOf(index + 1));
  const phases: string[] = [];
  const keys: string[] = [];
  const added: [id: bigint, line: number][] = [];
  let found = 0;
  const create = async ({ name }: NewPet, idempotencyKey: string) => {
    keys.push(idempotencyKey);
    const error = errors[keys.length - 1];
    if (error !== undefined) throw error;
    const pet = { id: BigInt(keys.length), name, categoryId: 7n, status: 'available' } as const;
    return { pet, isReplay: false, isFirstAttempt: true, ...replays };
  };
  const bulk: BulkAdd = new BulkAdd(rows, create, {
    phase: (phase) => {
      phases.push(phase.name === 'waiting' ? `waiting ${phase.waitMs}` : phase.name);
      assert.equal(bulk.phase, phase);
      onPhase(bulk, phase);
    },
    added: ({ id }, { line }) => added.push([id, line]),
    found: () => (found += 1),
  });
  return { bulk, rows, phases, keys, added, found: () => found };
}

/** Ends every wait at once. */
const tryNow = (bulk: BulkAdd, { name }: Phase): void => {
  if (name === 'waiting') void bulk.run();
};

for (const status of [401, 403]) {
  test(`after a ${status} a bulk add is paused, and continues with the same animal and another key`, async () => {
    const { bulk, rows, phases, keys, added } = newBulk(2, [undefined, refusal(status)]);
    await bulk.run();
    assert.equal(bulk.done, 1);
    assert.ok(bulk.phase.name === 'paused' && bulk.phase.fault?.status === status);
    await bulk.run();
    assert.deepEqual(phases, ['running', 'paused', 'running', 'done']);
    assert.deepEqual(keys, ['key-1', 'key-2', 'key-2']);
    assert.deepEqual(added, [
      [1n, 1],
      [3n, 2],
    ]);
    assert.ok(rows.every(({ id, refusal: reason }) => id !== undefined && reason === undefined));
  });
}

test('a bulk add waits longer after each failure, and after 20 in a row the user decides', async () => {
  const errors = [LOST, LOST, undefined, ...Array.from({ length: 21 }, () => LOST)];
  const { bulk, phases, keys } = newBulk(2, errors, tryNow);
  await bulk.run();
  const seconds = [2, 4, 2, 4, 8, 16, ...Array.from({ length: 16 }, () => 30)];
  assert.deepEqual(phases, [
    ...seconds.flatMap((each) => ['running', `waiting ${each * 1000}`]),
    'running',
    'paused',
  ]);
  await bulk.run();
  assert.deepEqual(phases.slice(-3), ['paused', 'running', 'done']);
  assert.equal(keys.length, errors.length + 1);
  assert.deepEqual(new Set(keys.slice(3)), new Set(['key-2']));
});

test('a bulk add waits as long as the service asks for, and is paused if that is longer than two minutes', async () => {
  const errors = [
    refusal(429, 7_000),
    refusal(503, 120_000),
    refusal(503),
    refusal(500, 9_000),
    refusal(408),
    refusal(429, 120_001),
  ];
  const { bulk, phases } = newBulk(1, errors, tryNow);
  await bulk.run();
  assert.deepEqual(
    phases.filter((name) => name !== 'running'),
    ['waiting 7000', 'waiting 120000', 'waiting 5000', 'waiting 16000', 'waiting 30000', 'paused'],
  );
});

test('a bulk add leaves out an animal that the service refuses, and adds the next', async () => {
  const errors = [refusal(400), refusal(422), refusal(499)];
  const { bulk, rows, phases, added } = newBulk(4, errors);
  await bulk.run();
  assert.deepEqual(phases, ['running', 'done']);
  assert.equal(bulk.done, 4);
  assert.deepEqual(added, [[4n, 4]]);
  assert.deepEqual(
    rows.map(({ id, refusal: reason }) => reason ?? id),
    ['Status 400.', 'Status 422.', 'Status 499.', 4n],
  );
});

test('a bulk add is paused after the animal that is being sent, or while it waits', async () => {
  const sending = newBulk(2, []);
  const run = sending.bulk.run();
  sending.bulk.pause();
  await run;
  assert.deepEqual(sending.phases, ['running', 'paused']);
  assert.equal(sending.bulk.done, 1);
  await sending.bulk.run();
  assert.deepEqual(sending.phases, ['running', 'paused', 'running', 'done']);

  const failing = newBulk(1, [LOST]);
  const failure = failing.bulk.run();
  failing.bulk.pause();
  await failure;
  assert.deepEqual(failing.phases, ['running', 'paused']);

  const waiting = newBulk(1, [LOST], (bulk, { name }) => name === 'waiting' && bulk.pause());
  await waiting.bulk.run();
  assert.deepEqual(waiting.phases, ['running', 'waiting 2000', 'paused']);
});

test('a bulk add is stopped after the animal that is being sent, or at once while it is paused', async () => {
  const sending = newBulk(2, []);
  const run = sending.bulk.run();
  sending.bulk.stop();
  await run;
  assert.deepEqual(sending.phases, ['running', 'done']);
  assert.deepEqual(sending.keys, ['key-1']);

  const paused = newBulk(1, [refusal(403)]);
  await paused.bulk.run();
  paused.bulk.stop();
  assert.deepEqual(paused.phases, ['running', 'paused', 'done']);
});

test('a bulk add that is started twice sends each animal once', async () => {
  const { bulk, phases, keys } = newBulk(3, []);
  await Promise.all([bulk.run(), bulk.run()]);
  assert.deepEqual(keys, ['key-1', 'key-2', 'key-3']);
  assert.deepEqual(phases, ['running', 'done']);
});

test('a line that the service replays was there, unless this run has sent it before and lost the response', async () => {
  const there = newBulk(2, [], undefined, { isReplay: true });
  await there.bulk.run();
  assert.deepEqual([there.found(), there.added], [2, []]);
  assert.ok(there.rows.every(({ id, wasThere }) => id !== undefined && wasThere === true));

  const lost = newBulk(2, [LOST], tryNow, { isReplay: true });
  await lost.bulk.run();
  assert.deepEqual([lost.found(), lost.added], [1, [[2n, 1]]]);

  const repeated = newBulk(1, [], undefined, { isReplay: true, isFirstAttempt: false });
  await repeated.bulk.run();
  assert.deepEqual([repeated.found(), repeated.added], [0, [[1n, 1]]]);

  const seen = newBulk(1, [LOST], tryNow, { isReplay: true, isFirstAttempt: false });
  for (const row of seen.rows) row.isSeen = true;
  await seen.bulk.run();
  assert.deepEqual([seen.found(), seen.added], [1, []]);
});

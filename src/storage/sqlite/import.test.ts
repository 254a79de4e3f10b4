import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { NewPet } from '../../domain/pet.ts';
import { openSqliteStore } from './store.ts';

function newStore(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-store-'));
  const store = openSqliteStore(join(folder, 'petstore.sqlite'));
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store;
}

const rex: NewPet = { name: 'Rex', categoryId: -(2n ** 63n), status: 'sold' };
const tom: NewPet = { name: '"Tom"\n😀', categoryId: 2n ** 63n - 1n, status: 'pending' };
const everything = { status: undefined, afterId: 0n, count: 100 };

test('importPets › keeps the order, the exact integers and the exact names', async (t) => {
  const store = newStore(t);
  assert.equal(await store.importPets([rex, tom]), true);
  assert.equal(await store.importPets([]), true);
  assert.deepEqual(await store.listPets(everything), [
    { id: 1n, ...rex },
    { id: 2n, ...tom },
  ]);
});

test('importPets › moves the note of the import with the animals, or does neither', async (t) => {
  const store = newStore(t);
  const first = { source: 'a', position: 10, lines: 1, imported: 1, skipped: 0 };
  const second = { source: 'a', position: 30, lines: 3, imported: 2, skipped: 1 };
  assert.equal(await store.findImport('a'), undefined);
  assert.equal(await store.importPets([rex], { from: 0, to: first }), true);
  assert.equal(await store.importPets([rex], { from: 0, to: first }), false);
  assert.equal(await store.importPets([tom], { from: 10, to: second }), true);
  assert.equal(await store.importPets([tom], { from: 10, to: second }), false);
  assert.deepEqual(await store.findImport('a'), second);
  assert.equal((await store.listPets(everything)).length, 2);
});

test('importPets › one animal that cannot be stored keeps all of them out, and the note too', async (t) => {
  const store = newStore(t);
  const wrong = { ...tom, status: 'gone' } as unknown as NewPet;
  const to = { source: 'a', position: 10, lines: 2, imported: 2, skipped: 0 };
  await assert.rejects(store.importPets([rex, wrong], { from: 0, to }), { code: 'unavailable' });
  assert.deepEqual(await store.listPets(everything), []);
  assert.equal(await store.findImport('a'), undefined);
});

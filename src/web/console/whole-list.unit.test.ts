import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pet } from '../../../sdk/src/index.ts';

interface WholeList {
  SAVED_MAX: number;
  readPets: (
    pets: AsyncIterable<Pet>,
    max: number,
    say: (words: string) => void,
  ) => Promise<{ read: Pet[]; hasMore: boolean }>;
}

async function* animals(count: number): AsyncGenerator<Pet> {
  for (let id = 1n; id <= count; id += 1n) {
    yield { id, name: 'Rex, the dog', categoryId: 7n, status: 'sold' };
  }
}

test('a download has at most 100,000 animals, and one more is noticed', async () => {
  // By its address: the types of the module are those of a browser.
  const { href } = new URL('page/whole-list.ts', import.meta.url);
  const { readPets, SAVED_MAX } = (await import(href)) as WholeList;
  assert.equal(SAVED_MAX, 100_000);
  const said: string[] = [];
  const all = await readPets(animals(1_000), 1_000, (words) => said.push(words));
  assert.deepEqual([all.read.length, all.hasMore], [1_000, false]);
  assert.deepEqual(said, ['500 animals so far …', '1,000 animals so far …']);
  const most = await readPets(animals(1_001), 1_000, () => undefined);
  assert.deepEqual([most.read.length, most.hasMore], [1_000, true]);
});

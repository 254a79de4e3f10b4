import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pet } from '../../../sdk/src/index.ts';

type ReadLines = (
  pets: AsyncIterable<Pet>,
  onCount: (read: number) => void,
) => Promise<string[] | undefined>;

async function* animals(count: number): AsyncGenerator<Pet> {
  for (let id = 1n; id <= count; id += 1n) {
    yield { id, name: 'Rex, the dog', categoryId: 7n, status: 'sold' };
  }
}

test('a download has at most 100,000 animals: one more, and no file is saved', async () => {
  // By its address: the types of the module are those of a browser.
  const { href } = new URL('page/download.ts', import.meta.url);
  const { readLines } = (await import(href)) as { readLines: ReadLines };
  const counts: number[] = [];
  const lines = await readLines(animals(100_000), (read) => counts.push(read));
  assert.equal(lines?.length, 100_000);
  assert.equal(lines[0], '1,"Rex, the dog",7,sold\r\n');
  assert.equal(counts.length, 100);
  const tooMany = await readLines(animals(100_001), () => undefined);
  assert.equal(tooMany?.length, undefined);
});

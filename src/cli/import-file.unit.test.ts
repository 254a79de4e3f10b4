import assert from 'node:assert/strict';
import { appendFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { checkFile } from './import-file.ts';

const ANIMALS = 10_000;
/** More than the bytes of one read. The last line has no line break. */
const CONTENT = '{"name":"Rex","categoryId":7}\n'.repeat(ANIMALS).trimEnd();
const TIME = new Date('2026-01-01');

/** Checks a file with CONTENT, and calls `onProgress` after each read. */
async function check(
  t: TestContext,
  onProgress: (share: number, file: string, animals: number) => void,
  signal = new AbortController().signal,
) {
  const file = join(temporaryFolder(t), 'pets.ndjson');
  writeFileSync(file, CONTENT);
  utimesSync(file, TIME, TIME);
  await using handle = await open(file);
  return await checkFile(handle, {
    columns: undefined,
    onFaults: () => assert.fail('no line is invalid'),
    onProgress: (animals, share) => onProgress(share, file, animals),
    signal,
  });
}

test('a file is checked to its end, and the progress is the part that was read', async (t) => {
  const steps: { share: number; animals: number }[] = [];
  const checked = await check(t, (share, _, animals) => steps.push({ share, animals }));
  assert.deepEqual([checked.animals, checked.invalid], [ANIMALS, 0]);
  assert.equal(checked.sizeBytes, CONTENT.length);
  const [first, last, ...others] = steps;
  assert.ok(first !== undefined && first.share > 0.5 && first.share < 1, JSON.stringify(steps));
  assert.ok(Math.abs(first.animals / ANIMALS - first.share) < 0.01, JSON.stringify(steps));
  assert.deepEqual([last, others], [{ share: 1, animals: ANIMALS - 1 }, []]);
});

const CHANGES: [what: string, change: (file: string) => void][] = [
  ['is longer', (file) => appendFileSync(file, '\n')],
  ['is shorter', (file) => truncateSync(file, 256 * 1024)],
  ['has another time', () => undefined],
];
for (const [what, change] of CHANGES) {
  test(`a file that ${what} while it is checked has changed`, async (t) => {
    const time = what === 'has another time' ? new Date(TIME.getTime() + 1) : TIME;
    const checking = check(t, (_, file) => {
      change(file);
      utimesSync(file, time, time);
    });
    await assert.rejects(checking, { message: 'The file has changed while it was read.' });
  });
}

test('the check of a file can be stopped', async (t) => {
  const checking = check(t, () => assert.fail('nothing is read'), AbortSignal.abort());
  await assert.rejects(checking, { name: 'AbortError' });
});

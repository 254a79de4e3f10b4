// What `npm test` shows at its end. The runs are real; the test files are made here.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const SCREEN = new URL('../last-screen.ts', import.meta.url).href;
const HEAD = `import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
`;

/** Runs test files of these contents, `a.test.ts` first, and returns what is shown. */
function screenOf(
  t: TestContext,
  contents: readonly string[],
  { isVerbose = false } = {},
): string[] {
  const root = temporaryFolder(t);
  const files = contents.map((content, index) => {
    const file = join(root, `${String.fromCharCode(97 + index)}.test.ts`);
    writeFileSync(file, `${HEAD}${content}\n`);
    return file;
  });
  const options = JSON.stringify({ root, fileCount: files.length, isVerbose });
  const script = `import { run } from 'node:test';
import { LastScreen } from '${SCREEN}';
const stream = run({ files: ${JSON.stringify(files)}, timeout: 60_000, concurrency: 1 });
const screen = new LastScreen(process.stdout, ${options});
const ended = screen.follow(stream);
stream.resume();
await ended;
screen.show();
process.stdout.write(screen.isFailed ? 'failed' : 'passed');`;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = join(root, 'program.mjs');
  writeFileSync(program, script);
  const { stdout, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.split('\n');
}

/** Without the time, which differs. */
const countsIn = (lines: readonly string[]) => lines.at(-2)?.replace(/, \d+ s$/, '');

test('a green run shows what was skipped, one line per reason with its count, and the counts', (t) => {
  const lines = screenOf(t, [
    `test('one', { skip: 'needs a cat' }, () => {});
describe('Dogs', () => { test('two', () => {}); test('three', (t) => t.skip('needs a dog')); });`,
    `test('four', { skip: 'needs a dog' }, () => {}); console.error('a warning');`,
  ]);
  assert.deepEqual(lines.slice(0, -2), ['Skipped 2: needs a dog', 'Skipped 1: needs a cat']);
  assert.equal(countsIn(lines), '4 tests: 1 passed, 0 failed, 0 cancelled, 3 skipped');
  assert.equal(lines.at(-1), 'passed');
});

test('a failure shows its titles, file, line, source and what differed', (t) => {
  const lines = screenOf(t, [
    `describe('Cats', () => {
  test('purr', () => {
    assert.deepEqual({ name: 'Tom', legs: 4 }, { name: 'Tom', legs: 5 });
  });
  test('sleep', () => {
    const age = 61;
    assert.ok(age < 60, String(age));
  });
});`,
  ]);
  assert.deepEqual(lines.slice(0, -2), [
    '✖ Cats › purr',
    "  a.test.ts:5  assert.deepEqual({ name: 'Tom', legs: 4 }, { name: 'Tom', legs: 5 });",
    '  actual: legs: 4,',
    '  expected: legs: 5,',
    '✖ Cats › sleep',
    '  a.test.ts:9  assert.ok(age < 60, String(age));',
    '  61',
  ]);
  assert.equal(countsIn(lines), '2 tests: 0 passed, 2 failed, 0 cancelled, 0 skipped');
  assert.equal(lines.at(-1), 'failed');
});

test('a file that ends without a result, a hook, a timeout and a cancelled test are shown, each once', (t) => {
  const lines = screenOf(t, [
    `import { nothing } from './none.ts'; test('never', nothing);`,
    `describe('Hooked', () => { before(() => { throw new Error('no hook'); }); test('a', () => {}); });`,
    `test('slow', { timeout: 10 }, () => new Promise((resolve) => { setTimeout(resolve, 500); }));`,
    `test('parent', { timeout: 500 }, (t) => t.test('child', () => new Promise(() => {})));`,
    `test('late', () => { setTimeout(() => { throw new Error('too late'); }, 10); });
test('next', () => new Promise((resolve) => { setTimeout(resolve, 500); }));`,
    `after(() => { throw new Error('at the end'); }); test('fine', () => {});`,
  ]);
  const text = lines.join('\n');
  for (const reason of [
    /^✖ a\.test\.ts\n {2}a\.test\.ts:1\n {2}Error .*: Cannot find module 'none\.ts' imported from a\.test\.ts$/m,
    /^✖ Hooked\n {2}b\.test\.ts:3 .*\n {2}no hook$/m,
    /^✖ slow\n {2}c\.test\.ts:3 .*\n {2}test timed out after 10ms$/m,
    /^✖ parent\n {2}d\.test\.ts:3 .*\n {2}test timed out after 500ms$/m,
    /^✖ e\.test\.ts\n {2}e\.test\.ts:1\n {2}Error: Test "late" .*\n.*"Error: too late"/m,
    /^✖ f\.test\.ts\n {2}f\.test\.ts:3 .*\n {2}at the end$/m,
  ]) {
    assert.match(text, reason);
  }
  assert.equal(text.match(/^✖ /gm)?.length, 6, text);
  assert.equal(lines.at(-1), 'failed');
});

test('twenty reasons and three failures with long differences fit on a screen of 24 lines', (t) => {
  const skips = Array.from({ length: 20 }, (_, index) => index)
    .map((index) => `test('s${index}', { skip: 'needs ${index}' }, () => {});`)
    .join('\n');
  const list = 'Array.from({ length: 50 }, (_, index) => index';
  const failures = ['x', 'y', 'z'].map(
    (name) => `test('${name}', () => { assert.deepEqual(${list}), ${list} * 2)); });`,
  );
  const lines = screenOf(t, [skips, ...failures]);
  // npm writes four lines above, and the last is not of the screen.
  assert.ok(lines.length - 1 <= 24 - 4, lines.join('\n'));
  assert.equal(lines.filter((line) => line.startsWith('✖ ')).length, 3, lines.join('\n'));
  assert.match(lines.join('\n'), /^Skipped for 14 more reasons: --verbose lists them\.$/m);
  const verbose = screenOf(t, [skips, ...failures], { isVerbose: true });
  assert.equal(verbose.filter((line) => line.startsWith('Skipped 1: needs ')).length, 20);
});

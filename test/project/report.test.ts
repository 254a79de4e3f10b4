// What `npm test` shows at its end. The runs are real; the test files are made here.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { run } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const REPORT = new URL('../report.ts', import.meta.url).href;
const HEAD = `import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
`;

/** Runs test files of these contents, and returns what is shown. */
async function reportOf(t: TestContext, contents: readonly string[], isVerbose = false) {
  const root = temporaryFolder(t);
  const files = contents.map((content, index) => {
    const file = join(root, `${index}.test.ts`);
    writeFileSync(file, `${HEAD}${content}\n`);
    return file;
  });
  const program = join(root, 'program.mjs');
  const script = `import { run } from 'node:test';
import { report } from '${REPORT}';
const stream = run({ files: ${JSON.stringify(files)}, timeout: 60_000, concurrency: 1 });
process.stdout.write((await report(stream, process.stdout, ${isVerbose})) ? 'passed' : 'failed');`;
  writeFileSync(program, script);
  const { stdout, stderr } = await run([program], { command: [process.execPath] });
  assert.equal(stderr, '');
  return stdout.replace(/\d+ s(?=\n\w+$)/, 'N s');
}

test('a green run shows dots, or with --verbose each test, what was skipped and why, and the counts', async (t) => {
  const contents = [
    `test('one', { skip: 'needs a cat' }, () => {});
describe('Dogs', () => { test('two', () => {}); test('three', (t) => t.skip('needs a dog')); });`,
    `test('four', { skip: 'needs a dog' }, () => {}); console.error('a warning');`,
  ];
  const end = [
    'Skipped 2: needs a dog',
    'Skipped 1: needs a cat',
    '4 tests: 1 passed, 0 failed, 0 cancelled, 3 skipped, N s',
    'passed',
  ];
  const shown = await reportOf(t, contents);
  assert.deepEqual(shown.split(/\n+/), ['.....', ...end]);
  const verbose = await reportOf(t, contents, true);
  assert.match(verbose, /^﹣ one .*\n▶ Dogs\n {2}✔ two /);
  assert.ok(verbose.endsWith(end.join('\n')));
});

test('each failure is shown in full, and why a file has ended', async (t) => {
  const shown = await reportOf(t, [
    `test('purr', () => assert.deepEqual({ legs: 4 }, { legs: 5 }));`,
    `import { nothing } from './none.ts'; test('never', nothing);`,
    `describe('Hooked', () => { before(() => { throw new Error('no hook'); }); test('a', () => {}); });`,
    `test('slow', { timeout: 10 }, () => new Promise((resolve) => { setTimeout(resolve, 500); }));`,
    `test('late', () => { setTimeout(() => { throw new Error('too late'); }, 10); });
test('next', () => new Promise((resolve) => { setTimeout(resolve, 500); }));`,
    `after(() => { throw new Error('at the end'); }); test('fine', () => {});`,
  ]);
  for (const reason of [
    /^✖ purr .*\n.*AssertionError[\s\S]*^ *\+ +legs: 4\n *- +legs: 5$[\s\S]*0\.test\.ts:3:/m,
    /^Error \[ERR_MODULE_NOT_FOUND\]: Cannot find module '.*none\.ts'/m,
    /^✖ Hooked .*\n +Error: no hook$/m,
    /^✖ slow .*\n +'test timed out after 10ms'$/m,
    /Error: Test "late" .*"Error: too late"/,
    /^✖ .*5\.test\.ts .*\n +Error: at the end$/m,
  ]) {
    assert.match(shown, reason);
  }
  assert.match(shown, /\n9 tests: 3 passed, 4 failed, 2 cancelled, 0 skipped, N s\nfailed$/);
});

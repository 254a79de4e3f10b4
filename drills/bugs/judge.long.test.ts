// The judge in a project of a few files, whose tests try to deceive it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { Sandbox } from './sandbox.ts';
import { Judge } from './judge.ts';
import type { Bug } from './list.ts';

const FILES = {
  'harness/memory-folder.ts': '',
  'product.ts': 'export const one = 1;\n',
  'asserts.test.ts': `test('one', () => assert.equal(one, 1));`,
  'inner.test.ts': `test('outer', async (t) => { await t.test('one', () => assert.equal(one, 1)); });`,
  'later.test.ts': `let before = 1;
    test('first', () => { before = one; });
    test('second', () => assert.equal(before, 1));`,
  'unloadable.test.ts': `assert.equal(one, 1); test('loaded', () => undefined);`,
  'overdue.test.ts': `test('waits', { timeout: 50 }, async () => {
    if (one !== 1) await new Promise((resolve) => setTimeout(resolve, 60_000));
  });`,
  'broken.test.ts': `test('always fails', () => assert.equal(one, 0));`,
  'flaky.test.ts': `test('fails the first time', () => {
    const isFirst = !existsSync('ran');
    writeFileSync('ran', '');
    assert.ok(!isFirst);
  });`,
  'asserts.unit.test.ts': `test('one', () => assert.equal(one, 1));`,
  'broken.unit.test.ts': `test('always fails', () => assert.equal(one, 0));`,
  'blind.unit.test.ts': `test('sees nothing', () => undefined);`,
  'blind.test.ts': `test('sees nothing', () => undefined);`,
  'skipped.test.ts': `test('browser', { skip: 'needs a browser' }, () => undefined);`,
};
const IMPORTS = `import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { one } from './product.ts';
`;
const BUG: Bug = {
  name: 'one is two',
  file: 'product.ts',
  text: '1',
  changed: '2',
  isUnnoticed: false,
  drill: undefined,
};

const root = temporaryFolder();
for (const [name, content] of Object.entries(FILES)) {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), `${name.endsWith('.test.ts') ? IMPORTS : ''}${content}`);
}
const identity = ['-c', 'user.name=judge', '-c', 'user.email=judge@localhost'];
for (const args of [
  ['init', '-q'],
  ['add', '.'],
  [...identity, 'commit', '-qm', 'all'],
]) {
  execFileSync('git', args, { cwd: root });
}
const sandbox = new Sandbox(root);
after(() => {
  sandbox[Symbol.dispose]();
});

const noticing = async (...files: string[]) => {
  const notice = await new Judge(root).notice(sandbox, BUG, files);
  return notice && `${notice.file}: ${notice.title}`;
};

for (const [file, title] of [
  ['asserts.test.ts', 'one'],
  ['inner.test.ts', 'one'],
  ['later.test.ts', 'second'],
] as const) {
  test(`a bug is noticed by ${file}`, async () => {
    assert.equal(await noticing(file), `${file}: ${title}`);
  });
}

for (const [file, why] of [
  ['unloadable.test.ts', 'cannot be loaded'],
  ['overdue.test.ts', 'runs out of time'],
  ['broken.test.ts', 'fails without the bug too'],
  ['flaky.test.ts', 'fails only once'],
  ['blind.test.ts', 'does not look'],
] as const) {
  test(`a bug is not noticed by a file that ${why}`, async () => {
    assert.equal(await noticing(file), undefined);
  });
}

test('the files run in their order up to the first that notices the bug', async () => {
  const files = ['blind.test.ts', 'broken.test.ts', 'asserts.test.ts', 'inner.test.ts'];
  assert.equal(await noticing(...files), 'asserts.test.ts: one');
});

for (const [file, title, expected] of [
  ['asserts.test.ts', 'one', 'asserts.test.ts: one'],
  ['inner.test.ts', 'one', 'asserts.unit.test.ts: one'],
  ['asserts.test.ts', 'a title of before', 'asserts.unit.test.ts: one'],
  ['later.test.ts', 'second', 'asserts.unit.test.ts: one'],
  ['broken.test.ts', 'always fails', 'asserts.unit.test.ts: one'],
] as const) {
  test(`the test "${title}" of ${file} that noticed the bug last comes before the files`, async () => {
    const last = { file, title };
    const notice = await new Judge(root).notice(sandbox, BUG, ['asserts.unit.test.ts'], last);
    assert.equal(notice && `${notice.file}: ${notice.title}`, expected);
  });
}

test('of unit tests in one process, those that notice the bug are known', async () => {
  const units = ['broken.unit.test.ts', 'asserts.unit.test.ts', 'blind.unit.test.ts'];
  const files = await new Judge(root).noticingUnits(sandbox, BUG, units);
  assert.deepEqual(files, ['asserts.unit.test.ts']);
});

test('a file is skipped if nothing in it runs here', async () => {
  const judge = new Judge(root);
  assert.equal(await judge.isSkipped(sandbox, BUG, 'skipped.test.ts'), true);
  assert.equal(await judge.isSkipped(sandbox, BUG, 'blind.test.ts'), false);
});

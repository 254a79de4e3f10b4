// The list follows the code: its texts are there. `npm run drill -- bugs` tries the bugs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { brokenByBug } from '../broken/broken.ts';
import { parseTap } from '../sandbox.ts';
import { allBugs, parseBugs, withBug } from './list.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALL = allBugs();
const FOLDERS = [
  ...['cli', 'domain', 'http', 'http/wire', 'ops', 'pet-file'].map((name) => `src/${name}`),
  ...['sqlite', 'postgres'].map((name) => `src/storage/${name}`),
  ...['console/page', 'docs', 'monitor'].map((name) => `src/web/${name}`),
  'src',
  'src/storage',
  'check',
  'sdk/src',
  'docs',
];

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

test('each text of a bug is in its file exactly once, and the file with the bug is valid', () => {
  for (const bug of ALL) {
    const { name } = bug;
    const content = read(bug.file);
    const changed = withBug(bug, content);
    assert.notEqual(changed, content, name);
    // A file that cannot be loaded would fail any test.
    if (bug.file.endsWith('.ts')) assert.doesNotThrow(() => stripTypeScriptTypes(changed), name);
  }
});

test('each bug has a name of its own', () => {
  assert.equal(new Set(ALL.map(({ name }) => name)).size, ALL.length);
});

test('each folder of the program has bugs, and there are at least 100', () => {
  assert.ok(ALL.length >= 100);
  const folders = new Set(ALL.map(({ file }) => dirname(file)));
  assert.deepEqual(
    FOLDERS.filter((folder) => !folders.has(folder)),
    [],
  );
});

test('a bug can be marked as one that no test notices yet', () => {
  const text = '# a.ts\none\n? not noticed yet\n- x\n-\n- y\n+\ntwo\n- ?\n+ z\n';
  assert.deepEqual(parseBugs(text), [
    { name: 'one', file: 'a.ts', text: 'x\n\ny', changed: '', isUnnoticed: true },
    { name: 'two', file: 'a.ts', text: '?', changed: 'z', isUnnoticed: false },
  ]);
});

test('a text that is missing, or is there twice, is refused with its file', () => {
  const bug = { name: '', file: 'a.ts', text: 'x', changed: '$&', isUnnoticed: false };
  assert.equal(withBug(bug, 'axb'), 'a$&b');
  assert.throws(() => withBug(bug, 'ab'), /^Error: a\.ts has the text of the bug 0 times/);
  assert.throws(() => withBug(bug, 'xx'), /^Error: a\.ts has the text of the bug 2 times/);
});

test('a control can put a bug of the list into a process', () => {
  const name = 'a create is acknowledged with 202';
  const file = ALL.find((each) => each.name === name)?.file ?? '';
  const { href } = new URL(`../../${file}`, import.meta.url);
  const script = `console.log(String((await import(${JSON.stringify(href)})).createPet))`;
  const sourceWith = (...flags: readonly string[]) =>
    execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script]).toString();
  assert.match(sourceWith(), /status: 201,/);
  assert.match(sourceWith(...brokenByBug(name)), /status: 202,/);
});

test('results are read from TAP with their titles, outcomes and reasons', () => {
  const output = [
    'TAP version 13',
    '# Subtest: suite',
    '    ok 1 - right \\# one',
    '      ---',
    '      duration_ms: 1',
    '      ...',
    '    not ok 2 - wrong',
    '      ---',
    "      failureType: 'testCodeFailure'",
    '      error: |-',
    '        Expected values to be equal:',
    '      ...',
    '    ok 3 - left out # SKIP needs cc',
    'not ok 1 - suite',
    '',
  ].join('\n');
  assert.deepEqual(parseTap(output), [
    { title: 'right # one', outcome: 'passed', reason: '', failureType: '' },
    {
      title: 'wrong',
      outcome: 'failed',
      reason: 'Expected values to be equal:',
      failureType: 'testCodeFailure',
    },
    { title: 'left out', outcome: 'skipped', reason: 'needs cc', failureType: '' },
    { title: 'suite', outcome: 'failed', reason: '', failureType: '' },
  ]);
});

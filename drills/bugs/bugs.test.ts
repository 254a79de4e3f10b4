// The list follows the code: its texts and its tests are there. `npm run drill -- bugs` tries the bugs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { brokenByBug } from '../broken/broken.ts';
import { parseTap } from '../sandbox.ts';
import { withBug, type Bug } from './bug.ts';
import { BUGS } from './bugs.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALL = Object.entries<Bug>(BUGS);
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
  for (const [name, bug] of ALL) {
    const content = read(bug.file);
    const changed = withBug(bug, content);
    assert.notEqual(changed, content, name);
    // A file that cannot be loaded would fail any test.
    if (bug.file.endsWith('.ts')) assert.doesNotThrow(() => stripTypeScriptTypes(changed), name);
  }
});

test('each test that must find a bug exists, with its title', () => {
  for (const [name, { test: file, title }] of ALL) {
    assert.ok(existsSync(join(ROOT, file)), `${name}: ${file}`);
    const isThere = sourcesOf(file).some((source) => hasTitle(source, title));
    assert.ok(isThere, `${name}: ${file} has no test "${title}"`);
  }
});

test('each folder of the program has bugs, and there are at least 100', () => {
  assert.ok(ALL.length >= 100);
  const folders = new Set(ALL.map(([, { file }]) => dirname(file)));
  assert.deepEqual(
    FOLDERS.filter((folder) => !folders.has(folder)),
    [],
  );
});

test('a text that is missing, or is there twice, is refused with its file', () => {
  const bug = { file: 'a.ts', text: 'x', changed: '$&', test: '', title: '' };
  assert.equal(withBug(bug, 'axb'), 'a$&b');
  assert.throws(() => withBug(bug, 'ab'), /^Error: a\.ts has the text of the bug 0 times/);
  assert.throws(() => withBug(bug, 'xx'), /^Error: a\.ts has the text of the bug 2 times/);
});

test('a control can put a bug of the list into a process', () => {
  const name = 'a create is acknowledged with 202';
  const { href } = new URL(`../../${BUGS[name].file}`, import.meta.url);
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

/** The test file, and those that have tests for it, such as the contract of a store. */
function sourcesOf(file: string, known = new Set<string>()): string[] {
  known.add(file);
  const source = read(file);
  const imported = [...source.matchAll(/ from '(\.[^']+\.ts)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  );
  const hasTests = (each: string) =>
    each.endsWith('.contract.ts') || read(each).includes("from 'node:test'");
  const others = imported.filter((each) => !known.has(each) && hasTests(each));
  return [source, ...others.flatMap((each) => sourcesOf(each, known))];
}

/** Whether a text has the title in quotes, or a template that can give it, such as `${fault} is ${code}`. */
function hasTitle(source: string, title: string): boolean {
  if ([`'${title}'`, `"${title}"`, `\`${title}\``].some((text) => source.includes(text)))
    return true;
  const templates = [...source.matchAll(/`([^`]*\$\{[^`]*)`/g)].map(([, text = '']) =>
    text.split(/\$\{[^}]*\}/),
  );
  return templates.some(
    (parts) =>
      // It must have some words of its own.
      parts.join('').length > 10 &&
      new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('.*')}$`, 's').test(title),
  );
}

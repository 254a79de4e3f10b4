// The list follows the code: its texts are there. `npm run drill -- bugs` tries the bugs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { brokenByBug } from '../broken/broken.ts';
import { testsFor, tierFiles } from './areas.ts';
import { allBugs, parseBugs, withBug } from './list.ts';
import { matrixOf } from './questions.ts';
import { NoticeRecord } from './record.ts';
import { searchOrder } from './search.ts';

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

test('a bug can be marked as not noticed yet, or name the drill that must find it', () => {
  const text = '# a.ts\none\n? not noticed yet\n- x\n-\n- y\n+\ntwo\n? drill crash\n- ?\n+ z\n';
  assert.deepEqual(parseBugs(text), [
    { name: 'one', file: 'a.ts', text: 'x\n\ny', changed: '', isUnnoticed: true, drill: undefined },
    { name: 'two', file: 'a.ts', text: '?', changed: 'z', isUnnoticed: false, drill: 'crash' },
  ]);
});

test('a text that is missing, or is there twice, is refused with its file', () => {
  const bug = {
    name: '',
    file: 'a.ts',
    text: 'x',
    changed: '$&',
    isUnnoticed: false,
    drill: undefined,
  };
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

test('a drill that must find a bug is a drill', () => {
  const drills = ALL.flatMap(({ drill }) => drill ?? []);
  assert.ok(drills.length > 0);
  for (const name of drills) assert.ok(existsSync(join(ROOT, `drills/${name}/${name}.drill.ts`)));
});

test('the file that noticed a bug last runs first, then those of its file, its folder and its area', () => {
  const tier = ['test/golden/a.test.ts', 'src/domain/b.test.ts', 'src/domain/a.test.ts'];
  const bugs = parseBugs('# src/domain/a.ts\none\n- x\n+ y\ntwo\n- y\n+ x\n');
  const [bug] = bugs;
  assert.ok(bug);
  const path = recordWith({ two: 'check/a.test.ts', one: 'gone.test.ts' });
  const record = new NoticeRecord(path);
  const known = { bugs, record, tier: ['check/a.test.ts', 'sdk/a.test.ts', ...tier] };
  assert.deepEqual(searchOrder(bug, known), [
    'check/a.test.ts',
    'src/domain/a.test.ts',
    'src/domain/b.test.ts',
    'test/golden/a.test.ts',
  ]);
});

test('every bug has test files that may notice it, and none is a test of the list', () => {
  const tier = tierFiles();
  for (const { file } of ALL) {
    const files = testsFor(file, tier);
    assert.ok(files.length > 0, file);
    assert.ok(!files.some((each) => each.startsWith('drills/bugs/')), file);
  }
});

test('the record has one line per bug, sorted by name, and forgets bugs that are gone', () => {
  const path = recordWith({ gone: 'a.test.ts', two: 'b.test.ts' });
  const record = new NoticeRecord(path);
  record.set('one', { file: 'c.test.ts', title: 'a: b' });
  record.keep(new Set(['one', 'two']));
  const lines = ['{', '  "one": "c.test.ts: a: b",', '  "two": "b.test.ts"', '}', ''];
  assert.equal(readFileSync(path, 'utf8'), lines.join('\n'));
  assert.deepEqual(record.find('one'), { file: 'c.test.ts', title: 'a: b' });
  assert.deepEqual(record.find('two'), { file: 'b.test.ts', title: undefined });
  assert.equal(record.find('gone'), undefined);
});

test('the matrix counts the files that notice each bug', () => {
  const rows = new Map([
    [{ name: 'one', file: 'a.ts' }, ['x.test.ts', 'y.test.ts']],
    [{ name: 'two', file: 'a.ts' }, ['x.test.ts']],
    [{ name: 'three', file: 'a.ts' }, []],
  ]);
  assert.equal(
    matrixOf(rows),
    [
      'files\tbug\tnoticed by',
      '0\ta.ts: three\t',
      '1\ta.ts: two\tx.test.ts',
      '2\ta.ts: one\tx.test.ts, y.test.ts',
      '',
      'file\tbugs\tonly this file',
      'x.test.ts\t2\t1',
      'y.test.ts\t1\t0',
      '',
      '3 bugs: 1 noticed by one file only, 1 by none',
      '',
    ].join('\n'),
  );
});

function recordWith(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  const path = join(folder, 'noticed.json');
  writeFileSync(path, JSON.stringify(files));
  return path;
}

// Tables and help on terminals of 60, 80 and 100 columns.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { pathsOf } from '../../scripts/commands.ts';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute, loadAll } from './execute.ts';

const WIDTHS = [60, 80, 100];
const LONG_NAME = 'the till at the back of the shop in the old town';

let service: TestService;
let folder = '';
before(async () => {
  service = await startTestService(sqliteStorage);
  folder = mkdtempSync(join(tmpdir(), 'petstore-narrow-'));
  const store = openSqliteStore(join(folder, 'production', 'petstore.sqlite'));
  const names = ['Rex', 'long name '.repeat(20).trim(), '猫'.repeat(100)];
  await store.importPets(
    names.map((name) => ({ name, categoryId: -(2n ** 63n), status: 'available' })),
  );
  await store.close();
  for (const name of names) {
    await run(['pets', 'add', '--name', name, '--category-id', '7'], 80);
  }
  await run(['keys', 'create', '--name', 'shop', '--expires', '90d', '--data', folder], 80);
  await run(['keys', 'create', '--name', LONG_NAME, '--data', folder], 80);
});
after(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command on a terminal of that width. Returns the lines of both streams, without colours. */
async function run(args: string[], columns: number): Promise<string[]> {
  let text = '';
  const output = { isTTY: true, columns, write: (part: string) => (text += part) };
  const env = { PETSTORE_API_KEY: service.key, PETSTORE_BASE_URL: service.baseUrl };
  await execute(COMMANDS, args, { env, stdout: output, stderr: output });
  return stripVTControlCharacters(text).split('\n');
}

/** As a terminal counts them. */
function widthOf(line: string): number {
  return Array.from(line).reduce((sum, each) => sum + (each === '猫' ? 2 : 1), 0);
}

/** The names of the commands in a part of a help. */
function namesIn(part: string): (string | undefined)[] {
  return [...part.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name);
}

/** The words of a help, with each example in one line. */
function wordsOf(text = ''): string {
  return text.replaceAll(' \\\n', ' ').replaceAll(/\s+/g, ' ');
}

for (const columns of WIDTHS) {
  test(`keys list on ${columns} columns shows what identifies a key whole, and times as people say them`, async () => {
    const lines = await run(['keys', 'list', '--data', folder], columns);
    const [heading = '', first = '', ...rest] = lines;
    const shown = heading.split(/ {2,}/);
    assert.deepEqual(shown.slice(0, 4), ['ID', 'NAME', 'STATE', 'SCOPES']);
    assert.match(first, /^key_\w{10} {2}shop {2,}active {2,}read,write/);
    const nameAt = heading.indexOf('NAME');
    const column = rest.slice(0, -2).map((line) => line.slice(nameAt, heading.indexOf('STATE')));
    assert.equal(column.join(' ').replaceAll(/\s+/g, ' ').trim(), LONG_NAME);
    const wanted = {
      60: [],
      80: ['EXPIRES', 'LAST USED'],
      100: ['CREATED', 'EXPIRES', 'LAST USED'],
    };
    assert.deepEqual(shown.slice(4), wanted[columns as keyof typeof wanted]);
    if (columns >= 80) assert.match(first, /in (?:89|90) d {2,}never/);
    if (columns === 100) assert.match(first, /(?:now|\d+ s ago) {2}/);
  });

  test(`every table fits on ${columns} columns`, async () => {
    for (const args of [
      ['keys', 'list', '--data', folder],
      ['pets', 'list'],
      ['catalogue', 'remove', '1', '2', '3', '--dry-run', '--data', folder],
      ['check', service.baseUrl],
    ]) {
      const lines = await run(args, columns);
      // Messages are lines of their own, which a terminal may wrap.
      const table = lines.filter((line) => !line.includes(folder));
      assert.ok(table.length > 3, args.join(' '));
      for (const line of table) assert.ok(widthOf(line) <= columns, `${args.join(' ')}: ${line}`);
    }
  });
}

test('every help on 60 columns breaks between words', async () => {
  for (const path of pathsOf(await loadAll(COMMANDS))) {
    for (const line of await run([...path, '--help'], 60)) {
      assert.ok(line.length <= 60 || !line.trim().includes(' '), line);
    }
  }
});

test('every help on 60 columns has all words, and its examples continue as a shell accepts them', async () => {
  for (const path of pathsOf(await loadAll(COMMANDS))) {
    const [narrow, wide] = await Promise.all(
      [60, 100].map(async (columns) => (await run([...path, '--help'], columns)).join('\n')),
    );
    assert.equal(wordsOf(narrow), wordsOf(wide));
    const [, examples = ''] = /\nExamples:\n([^]*?\n)\n/.exec(narrow ?? '') ?? [];
    assert.match(examples, /^(?: {2}petstore(?:[^\n\\]|\\\n {4}(?=\S))*\n)+$/);
  }
});

test('the help of the program says which commands call a service and which open a store', async () => {
  const text = (await run(['--help'], 100)).join('\n');
  const [, calling = '', store = ''] =
    /running service:\n([^]*?)\n\nCommands that open the store itself:\n([^]*?)\n\n/.exec(text) ??
    [];
  assert.deepEqual(namesIn(calling), ['health', 'pets', 'check']);
  assert.deepEqual(namesIn(store), [
    'keys',
    'import',
    'export',
    'catalogue',
    'backup',
    'restore',
    'verify',
    'copy',
  ]);
});

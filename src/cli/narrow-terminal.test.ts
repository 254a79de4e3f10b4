// Tables and help on terminals of 60, 80 and 120 columns.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { pathsOf } from '../../scripts/commands.ts';
import { startTestService, storageOf, type TestService } from '../../harness/test-service.ts';
import { INT64_MAX } from '../domain/int64.ts';
import { openAsIs } from '../storage/sqlite/connection.ts';
import { setLastId } from '../storage/sqlite/copy.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute, loadAll } from './execute.ts';

const WIDTHS = [60, 80, 120];
const LONG_NAME = 'the till at the back of the shop in the old town';
const PET_NAMES = ['Rex', 'long name '.repeat(20).trim(), '猫'.repeat(100)];
/** Each has as many digits as an id can have. */
const PET_IDS = PET_NAMES.map((_, index) => String(INT64_MAX - 9n + BigInt(index)));
const HEADINGS = ['Name of the animal as it is in the register', 'Art-Nr.', 'What we know of it'];

let service: TestService;
let folder = '';
let file = '';
let copies = 0;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-narrow-'));
  file = join(folder, 'production', 'petstore.sqlite');
  await openSqliteStore(file).close();
  using database = openAsIs(file);
  setLastId(database, INT64_MAX - 10n);
  service = await startTestService(storageOf('--data', folder));
  for (const name of PET_NAMES) {
    const body = `{"name":"${name}","categoryId":1}`;
    await service.send('/pets', { method: 'POST', body });
  }
  await run(['keys', 'create', '--name', 'shop', '--expires', '90d'], 80);
  await run(['keys', 'create', '--name', LONG_NAME], 80);
  const cells = ['a long text in a cell', '7', 'and a second long text'].join(';');
  writeFileSync(join(folder, 'pets.csv'), `${HEADINGS.join(';')}\n${`${cells}\n`.repeat(3)}`);
});
after(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command on a terminal of that width. Returns the lines of both streams, without colours. */
async function run(args: string[], columns: number): Promise<string[]> {
  let text = '';
  const output = { isTTY: true, columns, write: (part: string) => (text += part) };
  const env = {
    PETSTORE_DATA: folder,
  };
  await execute(COMMANDS, args, { env, stdout: output, stderr: output });
  // A bar is overwritten by what follows.
  return stripVTControlCharacters(text.replaceAll(/.*\r/g, '')).split('\n');
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

/** The commands that print a table, and what must be in its lines whole. */
const TABLES: (() => Promise<[args: string[], whole: string[]]>)[] = [
  async () => [['keys', 'list'], (await service.listKeys()).map(({ id }) => id)],
  async () => [['import', join(folder, 'pets.csv')], HEADINGS.map((text) => text.slice(0, 40))],
  async () => {
    const copy = `sqlite:${join(folder, `${(copies += 1)}.sqlite`)}`;
    return [
      ['copy', '--from', `sqlite:${file}`, '--to', copy],
      [`Copied sqlite:${file} to ${copy}.`, 'animals   3', PET_IDS.at(-1) ?? ''],
    ];
  },
];

/** Messages are lines of their own, which a terminal wraps. So is an option that is printed to be copied. */
function isMessage(line: string): boolean {
  return /[.?:]$/.test(line) || line.startsWith('  --columns ');
}

for (const columns of WIDTHS) {
  test(`keys list on ${columns} columns shows names whole, and times as people say them`, async () => {
    const lines = await run(['keys', 'list'], columns);
    const [heading = '', ...rest] = lines;
    const shown = heading.split(/ {2,}/);
    assert.deepEqual(shown.slice(0, 4), ['ID', 'NAME', 'STATE', 'SCOPES']);
    const [, shop = '', ...others] = rest.slice(0, -2);
    assert.match(shop, /^key_\w{10} {2}shop {2,}active {2,}read,write/);
    const nameAt = heading.indexOf('NAME');
    const column = others.map((line) => line.slice(nameAt, heading.indexOf('STATE')));
    assert.equal(column.join(' ').replaceAll(/\s+/g, ' ').trim(), LONG_NAME);
    const wanted = {
      60: [],
      80: ['EXPIRES', 'LAST USED'],
      120: ['CREATED', 'EXPIRES', 'LAST USED', 'DEPRECATED CALL'],
    };
    assert.deepEqual(shown.slice(4), wanted[columns as keyof typeof wanted]);
    if (columns >= 80) assert.match(shop, /in 90 d {2,}never/);
    if (columns === 120) assert.match(shop, /(?:now|\d+ s ago) {2}/);
  });

  test(`every table fits on ${columns} columns, and what identifies something is whole`, async () => {
    for (const tableOf of TABLES) {
      const [args, whole] = await tableOf();
      const lines = await run(args, columns);
      const table = lines.filter((line) => line !== '' && !isMessage(line));
      assert.ok(table.length > 1, args.join(' '));
      for (const line of table) assert.ok(widthOf(line) <= columns, `${args.join(' ')}: ${line}`);
      for (const text of whole) {
        assert.ok(
          lines.some((line) => line.includes(text)),
          `${args.join(' ')}: ${text}`,
        );
      }
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
  assert.deepEqual(namesIn(calling), ['health']);
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

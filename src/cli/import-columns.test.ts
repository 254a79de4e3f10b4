import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { UsageError } from '../setting.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

function newShop(t: TestContext) {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const run = async (args: string[], stdin: Buffer[] = []) => {
    let [out, words] = ['', ''];
    const code = await execute(COMMANDS, [...args, '--data', data], {
      env: {},
      stdin: Readable.from(stdin),
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (words += text) },
    });
    return { code, out, words };
  };
  return {
    data,
    file(content: string | Uint8Array): string {
      const path = join(folder, 'animals.csv');
      writeFileSync(path, content);
      return path;
    },
    import: (file: string, ...args: string[]) => run(['import', file, '--create', ...args]),
    importBytes: (bytes: Buffer[], ...args: string[]) =>
      run(['import', '-', '--create', ...args], bytes),
    async animals(): Promise<string[]> {
      const { out } = await run(['export', '--format', 'csv']);
      return out.split('\r\n').slice(1, -1);
    },
  };
}

test('a table with unknown headings is refused with its columns, and the printed line imports it', async (t) => {
  const shop = newShop(t);
  const file = shop.file(
    '"Tier, Name","Art-Nr.",Status,"Bob\'s"\nRex,7,sold,a\n"Tom, der Kater",8,,b\n',
  );
  const { code, words } = await shop.import(file);
  assert.equal(code, 1);
  assert.equal(
    words,
    `The first line must name its columns, including name and categoryId, separated by commas, semicolons or tabs: none is called name. Nothing was imported.
Its columns, with their first cells:
  1  "Tier, Name"  Rex | Tom, der Kater
  2  "Art-Nr."     7 | 8
  3  "Status"      sold | ${''}
  4  "Bob's"       a | b
Add the numbers of name, category and, if there is one, status to the command, for example:
  --columns 1,2,3
`,
  );
  assert.equal(existsSync(join(shop.data, 'production', 'petstore.sqlite')), true);
  assert.deepEqual(await shop.animals(), []);
  const option = words.split('\n').at(-2) ?? '';
  const command = `${process.execPath} ${PROGRAM} import ${file} --data ${shop.data}${option}`;
  execFileSync('sh', ['-c', command], { stdio: 'ignore' });
  assert.deepEqual(await shop.animals(), ['1,Rex,7,sold', '2,"Tom, der Kater",8,available']);
});

test('a table without headings is imported by the numbers of its columns, from its first line on', async (t) => {
  const shop = newShop(t);
  const file = shop.file('7;Rex\n8;Tom\n');
  const { words } = await shop.import(file);
  assert.match(words, / {2}--columns 1,2\n$/);
  const dry = await shop.import(file, '--columns', '2,1', '--dry-run');
  assert.match(
    dry.words,
    /^A table separated by semicolons: name from column 2, category from col/,
  );
  await shop.import(file, '--columns', '2,1');
  assert.deepEqual(await shop.animals(), ['1,Rex,7,available', '2,Tom,8,available']);
});

test('the example for --columns has what the headings name, and nothing twice', async (t) => {
  const shop = newShop(t);
  for (const [header, example] of [
    ['Tier,Name,Art', '2,1'],
    ['category,Tier,Art', '2,1'],
    ['Tier,Art,status', '1,2,3'],
  ]) {
    const { words } = await shop.import(shop.file(`${header}\nRex,7,x\n`));
    assert.ok(words.endsWith(`\n  --columns ${example}\n`), words);
  }
});

test('--columns that do not fit the table are refused with what there is', async (t) => {
  const shop = newShop(t);
  const file = shop.file('Tier,Art,Art\nRex,7,8\n');
  const { code, words } = await shop.import(file, '--columns', '1,4');
  assert.equal(code, 1);
  assert.match(words, /^The table has no column 4: it has 3\./);
  for (const wrong of ['', 'Tier', '1', '1,1', 'name=1,category=2']) {
    await assert.rejects(shop.import(file, '--columns', wrong), UsageError, wrong);
  }
  await assert.rejects(
    shop.import(file, '--columns', '1,2', '--format', 'json'),
    /--columns is for tables/,
  );
});

test('the same file with other columns is another list, and with the same columns it is imported once', async (t) => {
  const shop = newShop(t);
  const file = shop.file('name,category,Rufname\nRex,7,King\n');
  await shop.import(file);
  const same = await shop.import(file, '--columns', '1,2');
  assert.match(same.words, /imported before: 1 animal added/);
  await shop.import(file, '--columns', '3,2');
  const again = await shop.import(file, '--columns', '3,2');
  assert.match(again.words, /imported before: 1 animal added/);
  assert.deepEqual(await shop.animals(), ['1,Rex,7,available', '2,King,7,available']);
});

const LATIN = Buffer.from('name,category\nRex,7\nL\u00f6we,8\n', 'latin1');

test('a file that is not UTF-8 is refused with its lines as Windows-1252, and --encoding imports it', async (t) => {
  const shop = newShop(t);
  const file = shop.file(LATIN);
  const { code, words } = await shop.import(file);
  assert.equal(code, 1);
  assert.match(
    words,
    /^line 3: The line is not valid UTF-8\. As Windows-1252 it is "Löwe,8": if that is right, name the encoding windows-1252\.$/m,
  );
  assert.equal((await shop.import(file, '--encoding', 'windows-1252')).code, 0);
  assert.deepEqual(await shop.animals(), ['1,Rex,7,available', '2,Löwe,8,available']);
  const again = await shop.import(shop.file('name,category\nRex,7\nLöwe,8\n'));
  assert.match(again.words, /imported before: 2 animals added/, 'the same text in UTF-8');
});

test('UTF-16 is recognised by its byte order mark, also from standard input byte by byte', async (t) => {
  const shop = newShop(t);
  const text = Buffer.from('\uFEFFname\tcategory\r\nLöwe 🦊\t8\r\n', 'utf16le');
  const { code, words } = await shop.importBytes(Array.from(text, (byte) => Buffer.from([byte])));
  assert.equal(code, 0, words);
  assert.deepEqual(await shop.animals(), ['1,Löwe 🦊,8,available']);
  const broken = await shop.importBytes([Buffer.from('\uFEFFname\ud800', 'utf16le')]);
  assert.match(broken.words, /^The file is not valid UTF-16LE\. Nothing was imported\.\n$/);
});

test('an Excel file is refused with what to do instead', async (t) => {
  const shop = newShop(t);
  const { code, words } = await shop.import(shop.file('PK\u0003\u0004...'));
  assert.equal(code, 1);
  assert.match(
    words,
    /^This is an Excel file [^\n]+ copy its cells and paste them into the console\./,
  );
});

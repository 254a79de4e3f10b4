import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
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

test('UTF-16 is recognised by its byte order mark, also from standard input byte by byte', async (t) => {
  const shop = newShop(t);
  const text = Buffer.from('\uFEFFname\tcategory\r\nLöwe 🦊\t8\r\n', 'utf16le');
  const { code, words } = await shop.importBytes(Array.from(text, (byte) => Buffer.from([byte])));
  assert.equal(code, 0, words);
  assert.deepEqual(await shop.animals(), ['1,Löwe 🦊,8,available']);
  const broken = await shop.importBytes([Buffer.from('\uFEFFname\ud800', 'utf16le')]);
  assert.match(broken.words, /^The file is not valid UTF-16LE\. Nothing was imported\.\n$/);
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable, Writable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { callbackify } from 'node:util';
import fc from 'fast-check';
import { removePets, setStatus } from '../../harness/change-pets.ts';
import { anyCharacter } from '../../harness/any-character.ts';
import { listPets } from '../../harness/list-pets.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';
import { loadConfig } from '../config.ts';
import { petJson } from '../domain/json.ts';
import { PET_STATUSES, type NewPet } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';
import { isBlank, trimName } from '../domain/typed-pet.ts';
import { openPostgresStore } from '../storage/postgres/store.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';
import { nameOfStore } from '../open-store.ts';

/** A folder of the test's own, with the two commands working on a store in it. */
function newShop(t: TestContext) {
  const folder = temporaryFolder(t);
  const data = join(folder, 'data');
  const storeFile = join(data, 'production', 'petstore.sqlite');

  async function run(
    command: 'import' | 'export',
    args: string[],
    stdin?: AsyncIterable<Uint8Array>,
    onWords?: (text: string) => void,
  ): Promise<{ code: number; out: string; words: string }> {
    let [out, words] = ['', ''];
    const write = (text: string) => {
      words += text;
      onWords?.(text);
    };
    const code = await execute(COMMANDS, [command, ...args, '--data', data], {
      env: {},
      stdin: stdin ?? Readable.from([]),
      stdout: { write: (text) => (out += text) },
      // The bar of progress is shown on a terminal only.
      stderr: { write, isTTY: onWords !== undefined },
    });
    return { code, out, words };
  }

  return {
    file(name: string, content: string | Uint8Array): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    import: (...args: string[]) => run('import', [...args, '--create']),
    importStream: (chunks: Buffer[], ...args: string[]) =>
      run('import', ['-', ...args, '--create'], Readable.from(chunks)),
    /** Calls `change` when the first piece of the file is being stored, or when the bar first shows another text. */
    async importWhile(path: string, change: () => void, bar = /\d animals(?:,|$)/) {
      let isChanged = false;
      const result = await run('import', [path, '--create'], undefined, (text) => {
        if (isChanged || !bar.test(text)) return;
        isChanged = true;
        change();
      });
      assert.equal(isChanged, true);
      return result;
    },
    data,
    storeFile,
    export: (...args: string[]) => run('export', args),
    async withStore<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
      const store = openSqliteStore(storeFile, NEW_STORE);
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
    async names(): Promise<string[]> {
      const { out } = await run('export', []);
      return out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { name: string }).name);
    },
  };
}

const anyPet: fc.Arbitrary<NewPet> = fc.record({
  name: fc
    .string({
      unit: fc.oneof(fc.constantFrom('"', ',', '\n', '\r', '😀', ' ', "'", '\\'), anyCharacter),
      minLength: 1,
      maxLength: 60,
    })
    .filter((name) => name.isWellFormed() && !name.includes('\0'))
    // The import keeps the rules for what people type.
    .filter((name) => !isBlank(name) && trimName(name) === name),
  categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  status: fc.constantFrom(...PET_STATUSES),
});

/** Without the difference, which takes minutes to work out for so many. */
function assertSame(names: string[], expected: string[]): void {
  assert.equal(names.length, expected.length);
  assert.equal(
    names.findIndex((name, index) => name !== expected[index]),
    -1,
  );
}

for (const format of ['ndjson', 'csv']) {
  test(`${format}: what was exported comes back exactly, in the same order`, async (t) => {
    // Many animals in few runs, because every run opens stores.
    // A tab before a formula is taken for that of a spreadsheet: only NDJSON keeps it.
    const kept = anyPet.filter(({ name }) => format === 'ndjson' || !/^\t+[=+@-]/.test(name));
    const herd = fc.array(kept, { minLength: 50, maxLength: 99 });
    await fc.assert(
      fc.asyncProperty(herd, async (pets) => {
        const [from, to] = [newShop(t), newShop(t)];
        await from.withStore((store) => store.importPets(pets));
        const exported = await from.export('--format', format);
        const imported = await to.import(to.file(`pets.${format}`, exported.out));
        assert.deepEqual([imported.code, exported.code], [0, 0], imported.words);
        assert.ok(!existsSync(`${from.storeFile}-wal`), 'the store is closed');
        assert.equal((await to.export('--format', format)).out, exported.out);
        const stored = await to.withStore((store) =>
          listPets(store, { status: undefined, afterId: 0n, count: 100 }),
        );
        assert.deepEqual(
          stored,
          pets.map((pet, index) => ({ id: BigInt(index + 1), ...pet })),
        );
      }),
      { numRuns: 2, endOnFailure: true },
    );
  });
}

test('an export whose reader is gone ends with the page that was not read', async (t) => {
  const shop = newShop(t);
  const pet = { name: 'Rex', categoryId: 7n, status: 'sold' } as const;
  await shop.withStore((store) => store.importPets(Array.from({ length: 5_000 }, () => pet)));
  const stdout = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => done(new Error('gone')),
  });
  let words = '';
  const stderr = { write: (text: string) => (words += text) };
  await execute(COMMANDS, ['export', '--data', shop.data], { env: {}, stdout, stderr });
  assert.equal(words, `Exported 0 animals from ${shop.storeFile}.\n`);
});

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  test(`an export from ${kind} is one moment of the store, whatever is changed meanwhile`, async (t) => {
    const shop = newShop(t);
    const server = kind === 'PostgreSQL' ? await PostgresServer.start() : undefined;
    t.after(() => server?.close());
    const url = server?.url(await server.createDatabase());
    const store =
      url === undefined
        ? openSqliteStore(shop.storeFile, NEW_STORE)
        : await openPostgresStore(url, NEW_STORE);
    t.after(() => store.close());
    const pets = Array.from({ length: 5_000 }, (_, index) => {
      return { name: `Animal ${index}`, categoryId: 1n, status: 'available' } as const;
    });
    await store.importPets(pets);
    const changeAll = async () => {
      await removePets(store, [1n, 4_000n]);
      await setStatus(store, [2n, 4_001n], 'sold');
      await store.importPets(pets);
    };
    let out = '';
    const stdout = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        const isFirst = out === '';
        out += String(chunk);
        if (isFirst) callbackify(changeAll)(done);
        else done();
      },
    });
    const env = { PETSTORE_DATA: shop.data, DATABASE_URL: url };
    const stderr = { write: () => true };
    const code = await execute(COMMANDS, ['export'], { env, stdout, stderr });
    assert.equal(code, 0);
    assert.equal(stdout.listenerCount('close'), 0, 'no page leaves a listener behind');
    const expected = pets.map((pet, index) => `${petJson({ id: BigInt(index + 1), ...pet })}\n`);
    assert.ok(out === expected.join(''), `${out.split('\n').length - 1} animals were written`);
  });
}

test('the name of a store has no password', () => {
  const config = loadConfig({ database: 'postgres://user:secret@db.example:5433/pets' }, {});
  assert.equal(nameOfStore(config), 'postgres://db.example:5433/pets');
});

const strayQuotes: [where: string, row: string, reason: RegExp][] = [
  ['inside a field', 'Re"x,1', /^line 163: Quotes are in the wrong place: /m],
  [
    'at the start of a field',
    '"Rex,1',
    /^line 163: The line opens a quoted field that is not closed properly; reading continued with line 164\.$/m,
  ],
];
for (const [where, row, reason] of strayQuotes) {
  test(`a stray quote ${where} is an invalid line of a CSV file, and the others are read`, async (t) => {
    const shop = newShop(t);
    const rows = Array.from({ length: 5_000 }, (_, index) => `Animal ${index},1`);
    rows[161] = row;
    rows[4_000] = '"Tom, the cat",2';
    const file = shop.file('pets.csv', ['name,categoryId', ...rows].join('\n'));
    const { code, words } = await shop.import(file, '--skip-invalid');
    assert.equal(code, 1);
    assert.match(words, reason);
    assert.match(words, /^1 line was skipped as invalid\. /m);
    const names = await shop.names();
    assert.equal(names.length, 4_999);
    assert.equal(names[3_999], 'Tom, the cat');
  });
}

test('standard input with an invalid line at its end imports nothing, and leaves no temporary file', async (t) => {
  const shop = newShop(t);
  const chunks = ['{"name":"A","categoryId":1}\n', '{"name":"B","categoryId":1}\n{}\n'];
  const bytes = chunks.map((chunk) => Buffer.from(chunk));
  const { code, words } = await shop.importStream(bytes);
  assert.equal(code, 1);
  assert.match(words, /^line 3: [^]+Nothing was imported/);
  assert.deepEqual(await shop.names(), []);
  assert.equal((await shop.importStream(bytes, '--skip-invalid')).code, 1);
  assert.deepEqual(await shop.names(), ['A', 'B']);
  assert.deepEqual(copiesOfInput(), []);
});

/** The copies of standard input that this process, or the one with the id, has open. */
function copiesOfInput(pid: number | 'self' = 'self'): string[] {
  const folder = `/proc/${pid}/fd`;
  if (!existsSync(folder)) return [];
  const links = readdirSync(folder).map((fd) => join(folder, fd));
  return links.filter((each) => readlinkOrEmpty(each).includes('petstore-stdin-'));
}

const CHANGED =
  /The file has changed while it was read\. The import stopped after line [\d,]+, with [\d,]+ animals imported into [^\n]+\.\n$/;

/** Enough lines for several pieces. */
function newLines(count = 20_000): string {
  return Array.from({ length: count }, (_, index) => `{"name":"${index}","categoryId":1}\n`).join(
    '',
  );
}

test('a file that grows during its import stops it with one line', async (t) => {
  const shop = newShop(t);
  const file = shop.file('pets.ndjson', newLines());
  const { code, words } = await shop.importWhile(file, () => appendFileSync(file, newLines(1)));
  assert.equal(code, 1);
  assert.match(words, CHANGED);
  assert.equal((await shop.names()).length, 20_000);
});

test('a file that grows while it is checked is not imported', async (t) => {
  const shop = newShop(t);
  const file = shop.file('pets.ndjson', newLines());
  const grow = () => appendFileSync(file, newLines(1));
  const { code, words } = await shop.importWhile(file, grow, / animals checked/);
  assert.equal(code, 1);
  assert.match(words, /The file has changed while it was read\. Nothing was imported\.\n$/);
  assert.deepEqual(await shop.names(), []);
});

test('a JSON array is imported once, and continues where it was stopped', async (t) => {
  const shop = newShop(t);
  const names = Array.from({ length: 2_500 }, (_, index) => `Animal ${index}`);
  const content = JSON.stringify(names.map((name) => ({ name, categoryId: 1 })));
  const digest = createHash('sha256').update(content).digest('hex');
  const first = names.slice(0, 2_000).map((name) => {
    return { name, categoryId: 1n, status: 'available' } as const;
  });
  const position = Math.floor((content.length * 2_000) / 2_500);
  const to = { source: `json:${digest}`, position, lines: 2_000, imported: 2_000, skipped: 0 };
  await shop.withStore((store) => store.importPets(first, { from: 0, to }));
  assert.equal((await shop.import(shop.file('pets.json', content))).code, 0);
  assertSame(await shop.names(), names);
  const again = await shop.import(shop.file('pets.json', content));
  assert.match(again.words, /imported before: 2,500 animals added/);
});

test('a file with invalid lines that was imported in part is continued, and not corrected', async (t) => {
  const shop = newShop(t);
  const [first, rest] = ['{"name":"A","categoryId":1}\n', '{}\n{"name":"B","categoryId":1}\n'];
  const source = `ndjson:${createHash('sha256')
    .update(first + rest)
    .digest('hex')}`;
  const to = { source, position: first.length, lines: 1, imported: 1, skipped: 0 };
  const pet = { name: 'A', categoryId: 1n, status: 'available' } as const;
  await shop.withStore((store) => store.importPets([pet], { from: 0, to }));
  const file = shop.file('pets.ndjson', first + rest);
  const refused = await shop.import(file);
  assert.equal(refused.code, 1);
  assert.match(
    refused.words,
    /^line 2: [^\n]+\nAn earlier import of this file stopped after line 1, with 1 animal imported without its invalid lines: add --skip-invalid to continue it\.\n$/,
  );
  assert.equal((await shop.import(file, '--skip-invalid')).code, 1);
  assert.deepEqual(await shop.names(), ['A', 'B']);
});

function readlinkOrEmpty(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

test('of two imports of one file at once, every animal is in once', async (t) => {
  const shop = newShop(t);
  const names = Array.from({ length: 10_000 }, (_, index) => `Animal ${index}`);
  const lines = names.map((name) => `${JSON.stringify({ name, categoryId: 1 })}\n`);
  const file = shop.file('pets.ndjson', lines.join(''));
  const outcomes = await Promise.all([shop.import(file), shop.import(file)]);
  assert.ok(outcomes.some(({ code }) => code === 0) || (await shop.import(file)).code === 0);
  assertSame(await shop.names(), names);
});

test('an import stops when another one has stored a part of the file meanwhile', async (t) => {
  const shop = newShop(t);
  const content = newLines(10);
  const source = `ndjson:${createHash('sha256').update(content).digest('hex')}`;
  const { code, words } = await shop.importWhile(shop.file('pets.ndjson', content), () => {
    using other = new DatabaseSync(shop.storeFile);
    other.prepare('INSERT INTO imports VALUES (?, 5, 1, 1, 0)').run(source);
  });
  assert.equal(code, 1);
  assert.match(words, /Another import of the same file is running\. Nothing was imported\.\n$/);
  assert.deepEqual(await shop.names(), []);
});

test('a signal during the last transaction of an import does not make it incomplete', async (t) => {
  const shop = newShop(t);
  const file = shop.file('pets.ndjson', newLines(10));
  const handlers = process.listenerCount('SIGTERM');
  const { code, words } = await shop.importWhile(file, () => process.emit('SIGTERM'));
  assert.equal(code, 0);
  assert.match(words, /Imported 10 animals into [^\n]+\n$/);
  assert.equal(process.listenerCount('SIGTERM'), handlers, 'the next signal ends the process');
});

// Ctrl-C during an import. The drill `faults` ends imports and copies at random moments.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { MAIN, NODE_FLAGS, runHere, start } from '../../harness/command.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

/** A command of its own process, which ends with the test. */
function started(t: TestContext, child: ChildProcess) {
  t.after(() => child.kill('SIGKILL'));
  let words = '';
  child.stderr?.on('data', (chunk: Buffer) => (words += chunk.toString()));
  return { child, words: () => words, ended: once(child, 'close') };
}

const fileIn = (data: string) => join(data, 'production', 'petstore.sqlite');

function countPets(data: string): number {
  using database = new DatabaseSync(fileIn(data), { timeout: 5_000 });
  return Number(database.prepare('SELECT count(*) AS count FROM pets').get()?.['count']);
}

/** While the schema is being made, nothing is. */
function isStored(data: string): boolean {
  try {
    return countPets(data) > 0;
  } catch {
    return false;
  }
}

test('Ctrl-C says how far the import is, and the same command continues it', async (t) => {
  const data = temporaryFolder(t);
  const names = Array.from({ length: 60_000 }, (_, index) => `Animal ${index}`);
  const file = join(data, 'pets.ndjson');
  writeFileSync(file, names.map((name) => `{"name":"${name}","categoryId":1}\n`).join(''));
  const importing = start(['import', file, '--data', data, '--create'], {});
  const { child, ended, words } = started(t, importing);
  await until('the import begins', () => child.exitCode !== null || isStored(data));
  // The launcher passes it on, so that it may arrive twice.
  child.kill('SIGINT');
  child.kill('SIGINT');
  assert.deepEqual(await ended, [1, null]);
  const said =
    /^The import was interrupted\. The import stopped after line ([\d,]+), with \1 animals imported into (.+): the same command with the same file continues there\.\n$/;
  const [, count = '', store] = said.exec(words()) ?? [];
  assert.equal(store, fileIn(data), words());
  assert.equal(countPets(data), Number(count.replaceAll(',', '')));
  assert.equal((await runHere(['import', file, '--data', data])).code, 0);
  const { stdout } = await runHere(['export', '--data', data]);
  // Not deepEqual: the difference of so many takes minutes.
  assert.ok(stdout.match(/(?<="name":")[^"]+/g)?.join() === names.join());
});

test(
  'standard input is kept in a file without a name, and Ctrl-C says that nothing was imported',
  { skip: NEEDS_LINUX },
  async (t) => {
    const data = temporaryFolder(t);
    const line = '{"name":"Rex","categoryId":1}\n';
    const command = [...NODE_FLAGS, MAIN, 'import', '-', '--data', data, '--create'];
    const { child, ended, words } = started(t, spawn(process.execPath, command));
    child.stdin?.write(line);
    const folder = `/proc/${child.pid}/fd`;
    const copyOfInput = () =>
      readdirSync(folder)
        .map((descriptor) => join(folder, descriptor))
        .find((link) => targetOf(link).includes('petstore-stdin-'));
    await until('the line must be copied', () => {
      const link = copyOfInput();
      return link !== undefined && statSync(link).size === line.length;
    });
    const link = copyOfInput() ?? assert.fail('the file is open');
    assert.match(readlinkSync(link), / \(deleted\)$/);
    assert.equal(statSync(link).mode & 0o777, 0o600);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    assert.match(words(), /^The import was interrupted\. Nothing was imported\.\n$/);
    assert.equal(countPets(data), 0);
  },
);

/** What a descriptor of a process leads to; empty if it was closed after the folder was read. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

// Commands that fail print one line that says why. The exit code is 2 for wrong usage and 1 for a failure of the
// machine.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { needs, NEEDS_LINUX } from '../../harness/needs.ts';
import { canMount, mountSmallDisk } from '../../harness/small-disk.ts';
import { type Finished, MAIN, refusalIn, run, runHere } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

function assertOneLine({ code, stderr }: Finished, expected: number, line: RegExp): void {
  assert.match(stderr, /^[^\n]+\n$/);
  assert.match(refusalIn(stderr), line);
  assert.equal(code, expected, stderr);
}

async function newStore(t: TestContext): Promise<string> {
  const data = temporaryFolder(t);
  assert.equal(
    (await runHere(['keys', 'create', '--name', 'a', '--create', '--data', data])).code,
    0,
  );
  return data;
}

test('without a setting a store is looked for at the default of --data, and none is made', async (t) => {
  const cwd = process.cwd();
  t.after(() => process.chdir(cwd));
  process.chdir(temporaryFolder(t));
  writeFileSync('animals.ndjson', '{"name":"Rex","categoryId":1}\n');
  for (const command of [
    ['keys', 'create', '--name', 'a'],
    ['import', 'animals.ndjson'],
  ]) {
    const place = 'data/production/petstore.sqlite (from the default of --data)';
    const refused = await runHere(command);
    assertOneLine(refused, 2, /, or start the service there first, or add --create\.$/m);
    assert.ok(refused.stderr.includes(`there is no store at ${place}: `), refused.stderr);
  }
  assert.deepEqual(readdirSync('.'), ['animals.ndjson']);
});

const onLinux = { skip: NEEDS_LINUX };

test('a data folder that cannot be created is refused in one line', onLinux, async () => {
  for (const command of [
    ['serve', '--port', '0', '--admin-port', 'off'],
    ['keys', 'create', '--name', 'a', '--create'],
  ]) {
    assertOneLine(
      await runHere([...command, '--data', '/dev/null/x']),
      2,
      /\/dev\/null\/x.*name a data folder that/,
    );
  }
});

test('a command on a locked store prints one line and ends with exit code 1', async (t) => {
  const data = await newStore(t);
  const file = join(data, 'animals.ndjson');
  writeFileSync(file, '{"name":"Rex","categoryId":1}\n');
  const other = new DatabaseSync(join(data, 'production', 'petstore.sqlite'));
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  // This store has no schema yet, and creating it needs the lock too.
  mkdirSync(join(data, 'staging'));
  const fresh = new DatabaseSync(join(data, 'staging', 'petstore.sqlite'));
  t.after(() => fresh.close());
  fresh.exec('BEGIN EXCLUSIVE');
  const create = ['keys', 'create', '--name', 'b', '--create', '--data', data];
  const results = await Promise.all([
    run(create),
    run(['import', file, '--data', data]),
    run([...create, '--env', 'staging']),
  ]);
  for (const result of results) {
    assertOneLine(result, 1, /database is locked/);
    assert.doesNotMatch(result.stderr, /data folder/);
  }
  assert.match(results[1].stderr, / Nothing was imported\.\n$/);
});

const withSmallDisk = { skip: needs('the right to mount a small disk', canMount()) };

function smallDisk(t: TestContext, kibibytes: number): string {
  const { disk, unmount } = mountSmallDisk(kibibytes);
  t.after(unmount);
  return disk;
}

for (const kibibytes of [16, 32, 64]) {
  test(
    `a new store on a disk of ${kibibytes} KiB, which is a full disk for it, is refused with that reason`,
    withSmallDisk,
    async (t) => {
      const disk = smallDisk(t, kibibytes);
      const result = await runHere(['keys', 'create', '--name', 'a', '--create', '--data', disk]);
      assertOneLine(result, 1, /the disk is full|no space left/);
      assert.equal(result.stdout, '');
    },
  );
}

test(
  'an import that ends with a full disk prints one line, and continues when it is run again with more space',
  withSmallDisk,
  async (t) => {
    const disk = smallDisk(t, 1_024);
    const file = join(temporaryFolder(t), 'animals.ndjson');
    writeFileSync(
      file,
      '{"name":"A rather long name for an animal","categoryId":1}\n'.repeat(15_000),
    );
    const full = await runHere(['import', file, '--create', '--data', disk]);
    assertOneLine(full, 1, /the disk is full/);
    execFileSync('mount', ['-o', 'remount,size=16m', disk]);
    assert.equal((await runHere(['import', file, '--data', disk])).code, 0);
    const { stdout } = await runHere(['export', '--data', disk]);
    assert.equal(stdout.split('\n').length - 1, 15_000);
  },
);

test(
  'serve, keys create, catalogue, backup and restore on a full disk say that it is full',
  withSmallDisk,
  async (t) => {
    const disk = smallDisk(t, 1_024);
    const backup = join(temporaryFolder(t), 'backup.sqlite');
    const here = ['--data', disk];
    assert.equal((await runHere(['keys', 'create', '--name', 'a', '--create', ...here])).code, 0);
    assert.equal((await runHere(['backup', backup, ...here])).code, 0);
    const filler = openSync(join(disk, 'filler'), 'w');
    assert.throws(() => {
      for (;;) writeSync(filler, Buffer.alloc(4_096));
    }, /ENOSPC/);
    closeSync(filler);
    for (const args of [
      ['serve', '--port', '0', '--admin-port', 'off'],
      ['keys', 'create', '--name', 'b'],
      ['catalogue', 'set', '1', '--status', 'sold'],
      ['backup', `${backup}-2`],
      ['restore', backup, '--ids-above', '1000'],
    ]) {
      // A service that starts although the disk is full would not end in this process.
      const finished = await (args[0] === 'serve' ? run : runHere)([...args, ...here]);
      assertOneLine(finished, 1, /\(the disk is full\)\.\n$/);
    }
  },
);

const FULL_DEVICE = '/dev/full';
const withFullDevice = { skip: needs(FULL_DEVICE, existsSync(FULL_DEVICE)) };

test(
  'a command whose standard output cannot be written ends with exit code 1',
  withFullDevice,
  async (t) => {
    const data = await newStore(t);
    for (const args of [
      ['export', '--format', 'csv'],
      ['keys', 'list'],
    ]) {
      const full = openSync(FULL_DEVICE, 'w');
      t.after(() => closeSync(full));
      const result = await run([...args, '--data', data], { stdout: full });
      assertOneLine(result, 1, /standard output.*no space left/);
    }
  },
);

test('a command whose reader has closed the pipe, as head does, ends without a message', async () => {
  const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  assert.deepEqual([await once(child, 'close'), stderr], [[0, null], '']);
});

test(
  'the import of a file that cannot be read to its end ends with exit code 1',
  onLinux,
  async (t) => {
    // This file can be opened, but reading its beginning fails.
    const flags = ['--create', '--data', temporaryFolder(t)];
    const result = await runHere(['import', '/proc/self/mem', ...flags]);
    assertOneLine(result, 1, /i\/o error, read/);
  },
);

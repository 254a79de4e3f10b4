// The disk is full, or the store must not be written or read: the service refuses with 503 and recovers without a
// restart, and `petstore backup` prints one line and leaves nothing behind.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import { needs, needsProgram } from '../../harness/needs.ts';
import { MAIN, run, refusalIn } from '../../harness/command.ts';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { canMount, mountSmallDisk } from '../../harness/small-disk.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';
import { NEW_STORE } from '../../harness/store-identity.ts';

const RECOVERED_MS_MAX = 30_000;
const REFUSED_MS = 1_500;

/** Root may read and write every file, unless it gives up these capabilities. */
const WITHOUT_OVERRIDE = [
  '--bounding-set=-dac_override,-dac_read_search',
  '--inh-caps=-dac_override,-dac_read_search',
];
const isRoot = process.getuid?.() === 0;
const node = [process.execPath, MAIN] as const;
/** A process for which the modes of files count. */
const restricted = isRoot ? (['setpriv', ...WITHOUT_OVERRIDE, ...node] as const) : node;
const canRestrict = !isRoot || spawnSync('setpriv', [...WITHOUT_OVERRIDE, 'true']).status === 0;
const withModes = {
  skip: needs('the right to drop capabilities with setpriv', canRestrict),
};
/** The limit of a process for the size of files stands for a disk that is full: both make every write fail. */
const withLimit = { skip: needsProgram('prlimit') };

function create({ baseUrl, key }: ServiceProcess) {
  const headers = { authorization: `Bearer ${key}` };
  const body = '{"name":"Rex","categoryId":1}';
  return send(`${baseUrl}/pets`, { method: 'POST', headers, body });
}

async function statuses(service: ServiceProcess): Promise<[create: number, list: number]> {
  const { status } = await create(service);
  const headers = { authorization: `Bearer ${service.key}` };
  return [status, (await send(`${service.baseUrl}/pets`, { headers })).status];
}

function become(service: ServiceProcess, expected: [create: number, list: number]): Promise<void> {
  const areThere = async () => String(await statuses(service)) === String(expected);
  return until(`a create and a list become ${expected.join(' and ')}`, areThere, RECOVERED_MS_MAX);
}

test(
  'on a full disk creates are 503 and say so, and reads and /readyz 200; then all work again without a restart',
  withLimit,
  async (t) => {
    const service = await serve(t, ['--data', temporaryFolder(t)]);
    assert.deepEqual(await statuses(service), [201, 200]);
    const limitFiles = (bytes: string) =>
      execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
    limitFiles('1');
    await become(service, [503, 200]);
    assert.deepEqual(await statuses(service), [503, 200]);
    const { status, text } = await create(service);
    const message = 'The store cannot take new animals or changes at the moment.';
    assert.deepEqual(JSON.parse(text), { code: 'unavailable', message, status });
    assert.equal((await send(new URL('/readyz', service.baseUrl).href)).status, 200);
    limitFiles('unlimited');
    await become(service, [201, 200]);
  },
);

test(
  'while the folder of the store must not be entered, every request is 503; then all work again without a restart',
  withModes,
  async (t) => {
    const data = temporaryFolder(t);
    const service = await serve(t, ['--data', data], { command: restricted });
    assert.deepEqual(await statuses(service), [201, 200]);
    chmodSync(join(data, 'production'), 0o000);
    await become(service, [503, 503]);
    await sleep(REFUSED_MS);
    assert.deepEqual(await statuses(service), [503, 503]);
    chmodSync(join(data, 'production'), 0o700);
    await become(service, [201, 200]);
  },
);

test(
  'on a disk that has room for no more files, a start and a command name it and end with 1',
  { skip: needs('the right to mount a disk', canMount()) },
  async (t) => {
    const { disk, unmount } = mountSmallDisk(10_000, 12);
    t.after(unmount);
    await openSqliteStore(join(disk, 'production', 'petstore.sqlite'), NEW_STORE).close();
    const folder = temporaryFolder(t);
    const backup = join(folder, 'backup.sqlite');
    assert.equal((await run(['backup', backup, '--data', disk])).code, 0);
    for (let index = 0; statfsSync(disk).ffree > 0; index += 1) {
      writeFileSync(join(disk, `other-${index}`), '');
    }
    const isFull = String.raw`\(the disk is full: it has room for no more files \(df -i\)\)\.\n$`;
    const restore = ['restore', backup, '--ids-above', '1000'];
    for (const [line, args, data = disk] of [
      [`cannot be opened ${isFull}`, ['keys', 'list']],
      [`cannot be opened ${isFull}`, ['serve', '--port', '0', '--admin-port', 'off']],
      [`cannot be read ${isFull}`, ['verify']],
      [`cannot be read ${isFull}`, ['backup', join(folder, 'second.sqlite')]],
      [`cannot be replaced ${isFull}`, restore],
      [String.raw`cannot be created \(the disk is full\)\.\n$`, restore, join(disk, 'new')],
    ] as [line: string, args: string[], data?: string][]) {
      const { code, stderr } = await run([...args, '--data', data]);
      assert.match(refusalIn(stderr), new RegExp(line));
      assert.equal(code, 1);
    }
  },
);

async function newStore(t: TestContext): Promise<string> {
  const data = temporaryFolder(t);
  await openSqliteStore(join(data, 'production', 'petstore.sqlite'), NEW_STORE).close();
  return data;
}

test(
  'serve and the commands refuse a store that is read-only, or that another user has created, in one line',
  withModes,
  async (t) => {
    const data = await newStore(t);
    const folder = join(data, 'production');
    const settings = ['--port', '0', '--admin-port', 'off'];
    for (const [path, mode] of [
      [join(folder, 'petstore.sqlite'), 0o400],
      [folder, 0o500],
      [folder, 0o000],
      [data, 0o000],
    ] as const) {
      chmodSync(path, mode);
      for (const args of [
        ['serve', ...settings],
        ['keys', 'list'],
      ]) {
        const { code, stderr } = await run([...args, '--data', data], { command: restricted });
        assert.match(
          refusalIn(stderr),
          /^petstore: the store [^\n]+ cannot be opened \([^\n]+\): name a data folder that this user can write to, [^\n]+\n$/,
        );
        assert.equal(code, 2);
      }
      chmodSync(path, 0o700);
    }
  },
);

async function refusal(...args: string[]): Promise<string> {
  const { code, stderr } = await run(args, { command: restricted });
  assert.equal(code, 2, stderr);
  return stderr;
}

test(
  'copy and verify refuse a file of another user, and copy a folder of another user, in one line',
  withModes,
  async (t) => {
    const data = await newStore(t);
    const [folder, target] = [join(data, 'production'), join(data, 'target')];
    const file = join(folder, 'petstore.sqlite');
    mkdirSync(target, { mode: 0o500 });
    const copy = join(target, 'copy.sqlite');
    assert.match(
      await refusal('copy', '--from', `sqlite:${file}`, '--to', `sqlite:${copy}`),
      /^petstore: the store \S+ cannot be created \([^\n]+\): name a file in a folder that this user can write to\.\n$/,
    );
    for (const [path, ...args] of [
      [folder, 'copy', '--from', `sqlite:${file}`, '--to', `sqlite:${copy}`],
      [file, 'verify', file],
    ] as const) {
      chmodSync(path, 0o000);
      assert.match(
        await refusal(...args),
        /^petstore: the store \S+ cannot be opened \(EACCES[^\n]+\): run this as a user who can read and write it, for example its owner\.\n$/,
      );
      chmodSync(path, 0o700);
    }
  },
);

test(
  'a backup into a read-only folder, or of a store that must not be read, fails in one line',
  withModes,
  async (t) => {
    const data = await newStore(t);
    const target = join(data, 'backups');
    mkdirSync(target, { mode: 0o500 });
    const backUp = () =>
      run(['backup', join(target, 'b.sqlite'), '--data', data], { command: restricted });
    for (const [expected, prepare] of [
      [1, () => undefined],
      // As for every command that may not open the store.
      [
        2,
        () => {
          chmodSync(target, 0o700);
          chmodSync(join(data, 'production', 'petstore.sqlite'), 0o000);
        },
      ],
    ] as const) {
      prepare();
      const { code, stderr } = await backUp();
      assert.match(stderr, /^petstore: [^\n]*permission denied[^\n]*\n$/);
      assert.equal(code, expected);
      assert.deepEqual(readdirSync(target), []);
    }
  },
);

test(
  'a backup onto a full disk fails in one line, and leaves nothing behind',
  withLimit,
  async (t) => {
    const data = await newStore(t);
    // Less than the store, and more than its shared memory.
    const limited = ['prlimit', '--fsize=40960', ...node] as const;
    const file = join(data, 'b.sqlite');
    const { code, stderr } = await run(['backup', file, '--data', data], { command: limited });
    assert.match(stderr, /^petstore: [^\n]+ cannot be copied to [^\n]+\(disk I\/O error\)\.\n$/);
    assert.equal(code, 1);
    assert.deepEqual(readdirSync(data), ['production']);
  },
);

// The pool with small workers, which behave towards it like those of the service.

import assert from 'node:assert/strict';
import cluster, { type Worker } from 'node:cluster';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';
import { openLog } from '../ops/log.ts';
import { WorkerPool } from './worker-pool.ts';

/** Ends at once while the file `broken` is beside it. */
const SCRIPT = `
import { existsSync } from 'node:fs';
if (existsSync(new URL('broken', import.meta.url))) process.exit(3);
let isDraining = false;
process.on('message', (message) => {
  if (message === 'fail') process.send({ failed: 'the disk is gone' });
  if (message === 'not-ready') process.send({ heard: message });
  if (message === 'go' && isDraining) process.exit(0);
  if (message === 'go') process.send({ ready: { baseUrl: 'http://a/v1' } });
  if (message !== 'stop') return;
  isDraining = true;
  process.send({ ask: 'drain' });
});
process.send({ ask: 'listen' });
`;

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(
    (worker): worker is Worker => worker?.isDead() === false,
  );
}

const idsOf = (workers: readonly Worker[]) => workers.map(({ id }) => id);

/** A pool, and what has happened in it. */
function newPool(t: TestContext, size: number) {
  const folder = temporaryFolder(t);
  const broken = join(folder, 'broken');
  writeFileSync(join(folder, 'worker.mjs'), SCRIPT);
  cluster.setupPrimary({ exec: join(folder, 'worker.mjs'), args: [], execArgv: [], silent: true });
  const logLines: string[] = [];
  const pool = new WorkerPool(size, openLog('info', { write: (line) => logLines.push(line) }));
  /** How many workers ran at each start of one. */
  const starts: number[] = [];
  const events: string[] = [];
  const onFork = () => starts.push(running().length);
  const onMessage = (_: Worker, message: Record<string, unknown>) => {
    const { ask, heard } = message;
    if (ask === 'drain' || heard !== undefined) events.push(String(ask ?? heard));
  };
  const onExit = (_: Worker, code: number | null, signal: string | null) =>
    events.push(`ended ${code ?? signal}`);
  cluster.on('fork', onFork).on('message', onMessage).on('exit', onExit);
  t.after(async () => {
    await pool.stop();
    cluster.off('fork', onFork).off('message', onMessage).off('exit', onExit);
  });
  return {
    pool,
    starts,
    events,
    linesWith: (text: string) => logLines.filter((line) => line.includes(text)),
    setBroken: (isBroken: boolean) => (isBroken ? writeFileSync(broken, '') : rmSync(broken)),
  };
}

test('A pool of two workers', async (t) => {
  const { pool, starts, events, linesWith, setBroken } = newPool(t, 2);

  await t.test(
    'the first worker starts alone, and the pool has started when all are ready',
    async () => {
      pool.replaceAll();
      assert.deepEqual([running(), pool.isReady], [[], false]);
      assert.equal(await pool.start(), 'http://a/v1');
      assert.deepEqual([running().length, pool.isReady], [2, true]);
    },
  );

  await t.test(
    'each worker is replaced once, one by one, also if that is requested twice',
    async () => {
      const old = idsOf(running());
      pool.replaceAll();
      pool.replaceAll();
      const replaced = 'all workers were replaced';
      await until('the workers must be replaced', () => linesWith(replaced).length > 0);
      assert.deepEqual(starts, [1, 2, 3, 3]);
      assert.equal(linesWith(replaced).length, 1);
      assert.deepEqual(events.splice(0), ['drain', 'ended 0', 'drain', 'ended 0']);
      const current = idsOf(running());
      assert.equal(current.length, 2);
      assert.ok(current.every((id) => !old.includes(id)));
    },
  );

  await t.test(
    'if a new worker does not start, the old ones stay until the next request',
    async () => {
      const old = idsOf(running());
      setBroken(true);
      pool.replaceAll();
      await until('the failure must be logged', () => linesWith('the old ones stay').length > 0);
      assert.deepEqual(idsOf(running()), old);
      assert.equal(linesWith('a worker died').length, 1);
      assert.match(linesWith('a worker died').join(''), /"pid":\d+,"code":3,/);
      assert.equal(linesWith('all workers were replaced').length, 1);
      setBroken(false);
      pool.replaceAll();
      await until(
        'the workers must be replaced',
        () => linesWith('all workers were replaced').length > 1,
      );
      assert.deepEqual(starts.splice(0), [1, 2, 3, 3, 3, 3, 3]);
      assert.deepEqual(events.splice(0).toSorted(), [
        'drain',
        'drain',
        'ended 0',
        'ended 0',
        'ended 3',
      ]);
    },
  );

  await t.test(
    'every worker is told that the service is leaving, also one that starts later',
    async () => {
      pool.setNotReady();
      assert.equal(pool.isReady, false);
      await until('both must be told', () => events.length === 2);
      const [victim] = running();
      let diedMs = 0;
      victim?.prependOnceListener('exit', () => (diedMs = performance.now()));
      victim?.process.kill('SIGKILL');
      await until('another one must start', () => starts.length === 1);
      assert.ok(performance.now() - diedMs >= 190, 'not at once');
      await until('the new one must be told', () => events.length === 4);
      assert.deepEqual(events.splice(0), ['not-ready', 'not-ready', 'ended SIGKILL', 'not-ready']);
      assert.equal(pool.isReady, false);
    },
  );

  await t.test('when all workers stop, none drains before all have closed', async () => {
    const died = linesWith('a worker died').length;
    await pool.stop();
    assert.deepEqual(running(), []);
    await until('both must have ended', () => events.length === 4);
    assert.deepEqual(events, ['drain', 'drain', 'ended 0', 'ended 0']);
    assert.equal(linesWith('a worker died').length, died, 'a planned end is no crash');
    assert.equal(starts.length, 1, 'none is started again');
  });
});

test('a pool whose first worker ends does not start, with the exit code of the worker', async (t) => {
  const { pool, setBroken, starts } = newPool(t, 2);
  setBroken(true);
  await assert.rejects(pool.start(), { name: 'WorkerRefused', exitCode: 3 });
  assert.deepEqual([running(), starts], [[], [1]]);
  const other = newPool(t, 2);
  const started = other.pool.start();
  for (const worker of running()) worker.process.kill('SIGKILL');
  await assert.rejects(started, { name: 'WorkerRefused', exitCode: 1 });
});

test('a worker that is starting is killed when the pool stops', async (t) => {
  const { pool, events } = newPool(t, 2);
  void pool.start();
  await pool.stop();
  assert.deepEqual(running(), []);
  await until('it must have ended', () => events.length > 0);
  assert.deepEqual(events, ['ended SIGKILL']);
});

test('if the store of a worker fails, all workers end, and the pool has the reason', async (t) => {
  const { pool } = newPool(t, 2);
  await pool.start();
  running()[0]?.send('fail');
  assert.equal((await pool.failed).message, 'the disk is gone');
  await pool.stop();
  assert.deepEqual(running(), []);
});

test('a worker is replaced later after each crash in a row, and soon again after a long uptime', async (t) => {
  const { pool } = newPool(t, 1);
  await pool.start();
  const delaysMs: number[] = [];
  const original = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (callback: () => void, delayMs: number) => {
    delaysMs.push(delayMs);
    return original(callback, 0);
  });
  let uptimeMs = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + uptimeMs);
  const crash = async () => {
    const [worker] = running();
    worker?.process.kill('SIGKILL');
    await until('another worker is ready', () => pool.isReady && running()[0]?.id !== worker?.id);
  };
  for (let time = 0; time < 3; time += 1) await crash();
  uptimeMs = 31_000;
  await crash();
  assert.deepEqual(
    delaysMs.filter((delayMs) => delayMs >= 100),
    [200, 400, 800, 100],
  );
});

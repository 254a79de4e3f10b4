import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';

const WORKERS = 2;
/** An extra worker would have started by then: a dead worker is started again after a second. */
const SETTLED_MS = 2_000;

test(
  'a worker that is killed during a rolling restart is replaced once',
  { skip: NEEDS_LINUX },
  async () => {
    const service = await ServiceProcess.start({
      flags: ['--workers', String(WORKERS), '--log', 'info'],
    });
    const before = service.workerPids();
    service.signal('SIGHUP');
    await until('a new worker must start', () =>
      service.workerPids().some((pid) => !before.includes(pid)),
    );
    // The last one is replaced last: only when the new one listens.
    process.kill(before.at(-1) ?? 0, 'SIGKILL');
    await until('the restart must end', () => service.restarts() === 1);
    await until('all workers must be there', () => service.workerPids().length >= WORKERS);
    await sleep(SETTLED_MS);
    const after = service.workerPids();
    assert.equal(after.length, WORKERS);
    assert.ok(after.every((pid) => !before.includes(pid)));
    assert.deepEqual(await service.stop(), []);
  },
);

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { ServiceProcess } from '../fleet/service-process.ts';

const LOOK_AGAIN_MS = 20;
const STEP_MS_MAX = 60_000;
/** A worker too many would have been started by then: a dead one is replaced after 0.2 seconds or so. */
const SETTLED_MS = 1_500;
const REPLACED = 'all workers were replaced';

export interface KilledWorkerReport {
  /** How many workers there were after each restart. */
  workers: number[];
  violations: string[];
}

export interface KilledWorkerOptions {
  workers: number;
  restarts: number;
  onProgress?: (restarts: number) => void;
}

/** In each rolling restart one of the old workers is killed: afterwards there are as many as before. */
export async function drillKilledWorker(options: KilledWorkerOptions): Promise<KilledWorkerReport> {
  const key = newSecret('production', randomBytes);
  const data = await mkdtemp(join(tmpdir(), 'petstore-drill-'));
  const report: KilledWorkerReport = { workers: [], violations: [] };
  try {
    const flags = ['--workers', String(options.workers), '--data', data];
    const service = await ServiceProcess.start(flags, key);
    for (let restart = 1; restart <= options.restarts; restart += 1) {
      const before = await childrenOf(service);
      service.signal('SIGHUP');
      await until('a new worker', async () => (await childrenOf(service)).length > before.length);
      // Not the first one, which is the next to be stopped and may have been already.
      process.kill(Number(before.at(-1)), 'SIGKILL');
      await until('the restart', async () => service.countSaid(REPLACED) === restart);
      await until('all workers', async () => (await childrenOf(service)).length >= options.workers);
      await sleep(SETTLED_MS);
      const after = await childrenOf(service);
      report.workers.push(after.length);
      if (after.length !== options.workers) {
        report.violations.push(`restart ${restart}: ${after.length} workers are there`);
      }
      if (after.some((pid) => before.includes(pid))) {
        report.violations.push(`restart ${restart}: an old worker is still there`);
      }
      options.onProgress?.(restart);
    }
    report.violations.push(...(await service.stop()));
    return report;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

/** The processes that the service has started, the oldest first. */
async function childrenOf({ pid }: ServiceProcess): Promise<string[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ');
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + STEP_MS_MAX;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`${what} did not come in a minute`);
    await sleep(LOOK_AGAIN_MS);
  }
}

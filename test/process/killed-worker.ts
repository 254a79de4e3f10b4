import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceProcess } from '../../harness/service-process.ts';

const POLL_MS = 20;
const STEP_MS_MAX = 60_000;
/** An extra worker would have started by then: a dead worker is started again after a second. */
const SETTLED_MS = 2_000;

interface KilledWorkerReport {
  /** The number of workers after each restart. */
  workers: number[];
  violations: string[];
}

/** Kills one of the old workers in each rolling restart. The number of workers must then be as before. */
export async function killWorkers(options: {
  workers: number;
  restarts: number;
}): Promise<KilledWorkerReport> {
  const report: KilledWorkerReport = { workers: [], violations: [] };
  const flags = ['--workers', String(options.workers), '--log', 'info'];
  const service = await ServiceProcess.start({ flags });
  for (let restart = 1; restart <= options.restarts; restart += 1) {
    const before = service.workerPids();
    service.signal('SIGHUP');
    await until('a new worker', () => service.workerPids().some((pid) => !before.includes(pid)));
    // The last one is replaced last: only when the new one listens.
    process.kill(before.at(-1) ?? 0, 'SIGKILL');
    await until('the restart', () => service.restarts() === restart);
    await until('all workers', () => service.workerPids().length >= options.workers);
    await sleep(SETTLED_MS);
    const after = service.workerPids();
    report.workers.push(after.length);
    if (after.length !== options.workers) {
      report.violations.push(`restart ${restart}: ${after.length} workers are running`);
    }
    if (after.some((pid) => before.includes(pid))) {
      report.violations.push(`restart ${restart}: an old worker is still running`);
    }
  }
  report.violations.push(...(await service.stop()));
  return report;
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + STEP_MS_MAX;
  while (!isTrue()) {
    if (performance.now() > deadlineMs) throw new Error(`no sign of ${what} within a minute`);
    await sleep(POLL_MS);
  }
}

// Replaces, kills and stops workers under load, on this machine. No request may fail meanwhile; a connection
// that is reset is a failure.
//
//   node drills/rolling/main.ts load [--requests 50000] [--database]   rolling restarts under load
//   node drills/rolling/main.ts kill [--restarts 3]    kills one worker in each rolling restart
//   node drills/rolling/main.ts start [--moments 20]   sends SIGTERM at 20 moments of a start under load
//
// The store is SQLite, or with --database a PostgreSQL that the drill starts.

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { printViolations, parseCount } from '../fleet/report.ts';
import { drillInterruptedStart } from './interrupted-start.ts';
import { drillKilledWorker } from './killed-worker.ts';
import { drillRolling } from './rolling.ts';

const WORKERS = 4;
const RESTARTS_MIN = 2;
const SHOWN_EVERY = 10_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '50000' },
    database: { type: 'boolean', default: false },
    restarts: { type: 'string', default: '3' },
    moments: { type: 'string', default: '20' },
  },
});
// A drill kills its processes on 'exit', and the default handling of SIGINT would skip that event.
process.once('SIGINT', () => process.exit(1));
const progress = new Progress(process.stderr);
progress.show('starting');
const drills: Record<string, () => Promise<string[]>> = { load, kill, start };
const [name = 'load'] = positionals;
const drill = drills[name];
if (drill === undefined) {
  process.stderr.write(`"${name}" is not a drill: it must be load, kill or start.\n`);
  process.exit(2);
}
process.exitCode = printViolations(await drill());

async function load(): Promise<string[]> {
  const requests = parseCount('--requests', values.requests);
  const postgres = values.database ? await PostgresServer.start({ isDurable: true }) : undefined;
  const report = await drillRolling({
    workers: WORKERS,
    requests,
    restarts: RESTARTS_MIN,
    database: postgres?.url(),
    onProgress(succeeded, restarts) {
      if (succeeded % SHOWN_EVERY !== 0) return;
      progress.show(`${succeeded} requests succeeded, ${restarts} rolling restarts`);
    },
  });
  await postgres?.close();
  progress.clear();
  const failed = [...report.failures.values()].reduce((sum, count) => sum + count, 0);
  process.stdout.write(
    renderTable([
      ['store', postgres === undefined ? 'SQLite' : 'PostgreSQL'],
      ['workers', WORKERS],
      ['lists that returned 200', report.lists],
      ['creates that returned 201', report.creates],
      ['requests that failed', failed],
      ['seconds', report.seconds.toFixed(1)],
      ['SIGHUP sent', report.hangups],
      ['complete rolling restarts', report.restarts],
      ['slowest request, ms', Math.round(report.slowestMs)],
      ['animals stored', report.stored],
    ]),
  );
  return report.violations;
}

async function kill(): Promise<string[]> {
  const restarts = parseCount('--restarts', values.restarts);
  const report = await drillKilledWorker({
    workers: WORKERS,
    restarts,
    onProgress: (done) => progress.show(`${done} of ${restarts} rolling restarts`),
  });
  progress.clear();
  process.stdout.write(
    renderTable([
      ['workers', WORKERS],
      ['restarts with a killed worker', restarts],
      ['workers after each restart', report.workers.join(', ')],
    ]),
  );
  return report.violations;
}

async function start(): Promise<string[]> {
  const moments = parseCount('--moments', values.moments);
  const report = await drillInterruptedStart({
    workers: WORKERS,
    moments,
    onProgress: (done) => progress.show(`${done} of ${moments} starts`),
  });
  progress.clear();
  process.stdout.write(
    renderTable([
      ['workers', WORKERS],
      ['SIGTERM during or after a start', report.moments + 1],
      ['SIGTERM while only some workers served', report.whileStarting],
      ['creates acknowledged', report.acknowledged],
      ['acknowledged creates lost', report.lost],
      ['requests reset', report.resets],
      ['slowest exit, ms', Math.round(report.slowestExitMs)],
    ]),
  );
  return report.violations;
}

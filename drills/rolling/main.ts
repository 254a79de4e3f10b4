// Four workers behind one listener, on this machine, replaced again and again under load: no request
// may fail, and a connection that is reset is a failure.
//
//   node drills/rolling/main.ts [--requests 50000] [--database]
//
// The store is the embedded one, or with --database a PostgreSQL that is started for the drill.

import { parseArgs } from 'node:util';
import { Progress } from '../../bench/progress.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { conclude, parseCount, table } from '../fleet/report.ts';
import { drillRolling } from './rolling.ts';

const WORKERS = 4;
const RESTARTS_MIN = 2;
const SHOWN_EVERY = 10_000;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    database: { type: 'boolean', default: false },
  },
});
const requests = parseCount('--requests', values.requests);
const progress = new Progress(process.stderr);
progress.show('starting');
const postgres = values.database ? await PostgresServer.start({ isDurable: true }) : undefined;
const report = await drillRolling({
  workers: WORKERS,
  requests,
  restarts: RESTARTS_MIN,
  database: postgres?.url(),
  onProgress(answered, restarts) {
    if (answered % SHOWN_EVERY !== 0) return;
    progress.show(`${answered} requests answered, ${restarts} rolling restarts`);
  },
});
await postgres?.close();
progress.clear();
const failed = [...report.failures.values()].reduce((sum, count) => sum + count, 0);
process.stdout.write(
  table([
    ['store', postgres === undefined ? 'SQLite' : 'PostgreSQL'],
    ['workers', WORKERS],
    ['lists answered with 200', report.lists],
    ['creates answered with 201', report.creates],
    ['requests that failed', failed],
    ['in seconds', report.seconds.toFixed(1)],
    ['SIGHUP sent', report.hangups],
    ['complete rolling restarts', report.restarts],
    ['slowest request, ms', Math.round(report.slowestMs)],
    ['animals stored', report.stored],
  ]),
);
process.exitCode = conclude(report.violations);

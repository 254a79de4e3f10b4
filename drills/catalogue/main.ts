// `petstore catalogue` on a store that two processes serve to 32 readers and 8 creators.
//
//   node drills/catalogue/main.ts [--commands 100]       on the embedded store, then on PostgreSQL
//   node drills/catalogue/main.ts --beside COMMIT        on PostgreSQL, with one process of an older version
//
// PostgreSQL is started for the drill.

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { parseCount, printViolations } from '../fleet/report.ts';
import { drillChanges, type ChangesReport } from './changes.ts';
import { checkOut } from './older-version.ts';

const LOAD = { processes: 2, readers: 32, creators: 8 };

const { values } = parseArgs({
  options: { commands: { type: 'string', default: '100' }, beside: { type: 'string' } },
});
const commands = parseCount('--commands', values.commands);
const olderMain = values.beside === undefined ? undefined : checkOut(values.beside);
// What a drill has started is killed at the exit, which an interrupt would skip.
process.once('SIGINT', () => process.exit(1));
const progress = new Progress(process.stderr);

async function drill(name: string, database?: string): Promise<ChangesReport> {
  progress.show(`${name}: starting`);
  const onProgress = (report: ChangesReport) =>
    progress.show(`${name}: ${report.commands} commands, ${report.checkedReads} reads`);
  return drillChanges({ ...LOAD, commands, database, olderMain, onProgress });
}

async function drillPostgres(): Promise<ChangesReport> {
  const server = await PostgresServer.start({ isDurable: true });
  const report = await drill('PostgreSQL', server.url());
  await server.close();
  return report;
}

const reports = new Map<string, ChangesReport>();
if (olderMain === undefined) reports.set('SQLite', await drill('SQLite'));
reports.set('PostgreSQL', await drillPostgres());
progress.clear();
const row = (title: string, count: (report: ChangesReport) => number) => [
  title,
  ...[...reports.values()].map(count),
];
process.stdout.write(
  renderTable([
    ['', ...reports.keys()],
    row('commands', (report) => report.commands),
    row('animals changed or removed', (report) => report.animalsChanged),
    row('creates', (report) => report.creates),
    row('repeated creates', (report) => report.repeatedCreates),
    row('reads checked', (report) => report.checkedReads),
    row('walks to the end', (report) => report.walks),
    row('responses with 503', (report) => report.refused),
  ]),
);
process.exitCode = printViolations([...reports.values()].flatMap(({ violations }) => violations));

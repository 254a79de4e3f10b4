// `petstore catalogue` on a store that two processes serve to 32 readers and 8 creators.
//
//   node drills/catalogue/main.ts [--commands 100]
//
// First on the embedded store, then on a PostgreSQL that is started for the drill.

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { conclude, parseCount } from '../fleet/report.ts';
import { drillChanges, type ChangesReport } from './changes.ts';

const PROCESSES = 2;
const READERS = 32;
const CREATORS = 8;

const { values } = parseArgs({ options: { commands: { type: 'string', default: '100' } } });
const commands = parseCount('--commands', values.commands);
// What a drill has started is killed at the exit, which an interrupt would skip.
process.once('SIGINT', () => process.exit(1));
const progress = new Progress(process.stderr);

async function drill(name: string, database?: string): Promise<ChangesReport> {
  progress.show(`${name}: starting`);
  return drillChanges({
    commands,
    processes: PROCESSES,
    readers: READERS,
    creators: CREATORS,
    database,
    onProgress: (report) =>
      progress.show(`${name}: ${report.commands} commands, ${report.checkedReads} reads`),
  });
}

const sqlite = await drill('SQLite');
const server = await PostgresServer.start({ isDurable: true });
const postgres = await drill('PostgreSQL', server.url());
await server.close();
progress.clear();
const row = (title: string, count: (report: ChangesReport) => number) => [
  title,
  count(sqlite),
  count(postgres),
];
process.stdout.write(
  renderTable([
    ['', 'SQLite', 'PostgreSQL'],
    row('commands', (report) => report.commands),
    row('animals changed or removed', (report) => report.animalsChanged),
    row('creates', (report) => report.creates),
    row('repeated creates', (report) => report.repeatedCreates),
    row('reads checked', (report) => report.checkedReads),
    row('walks to the end', (report) => report.walks),
    row('violations', (report) => report.violations.length),
  ]),
);
process.exitCode = conclude([...sqlite.violations, ...postgres.violations]);

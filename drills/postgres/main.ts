// Harms PostgreSQL on purpose, on this machine, and holds the store to its promises.
//
//   node drills/postgres/main.ts [--rounds 20] [--freeze-seconds 10] [--queries 1000000]

import { parseArgs } from 'node:util';
import { PostgresServer } from '../../test/postgres-server.ts';
import { drillFailover } from './failover.ts';
import { drillFaults } from './faults.ts';
import { drillMarkers, openMixedUp } from './markers.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    'freeze-seconds': { type: 'string', default: '10' },
    queries: { type: 'string', default: '1000000' },
  },
});
const rounds = Number(values.rounds);
const freezeMs = Number(values['freeze-seconds']) * 1_000;
const queries = Number(values.queries);

const violations = [...(await faults()), ...(await failover()), ...(await markers())];
for (const violation of violations.slice(0, 20)) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(`${violations.length} violations\n`);
process.exitCode = violations.length === 0 ? 0 : 1;

async function faults(): Promise<string[]> {
  line('fault', 'round', 'recovered after');
  const report = await drillFaults({
    rounds,
    freezeMs,
    isDurable: true,
    onRound: ({ fault, round, recoveryMs }) => line(fault, round, `${recoveryMs} ms`),
  });
  line('calls', report.calls);
  line('acknowledged', report.acknowledged);
  line('refused', report.refused);
  line('slowest call', `${report.slowestCallMs} ms`);
  return report.violations;
}

async function failover(): Promise<string[]> {
  const report = await drillFailover({ isDurable: true });
  line('failover', `${report.acknowledged} acknowledged`, `${report.recoveryMs} ms`);
  return report.violations;
}

async function markers(): Promise<string[]> {
  const server = await PostgresServer.start({ isDurable: true });
  try {
    const { answered, givenUp, wrong } = await drillMarkers({ url: server.url(), queries });
    line('markers', `${answered} answered, ${givenUp} given up`, `${wrong} wrong`);
    const control = await drillMarkers({
      url: server.url(),
      queries: Math.min(queries, 20_000),
      open: openMixedUp,
    });
    line('control', `${control.answered} answered`, `${control.wrong} wrong`);
    return [
      ...(wrong === 0 ? [] : [`${wrong} rows reached the wrong caller`]),
      ...(control.wrong > 0 ? [] : ['the control found no wrong row: the drill finds nothing']),
    ];
  } finally {
    await server.close();
  }
}

function line(...cells: (string | number)[]): void {
  process.stdout.write(
    `${cells
      .map((cell) => String(cell).padEnd(24))
      .join('')
      .trimEnd()}\n`,
  );
}

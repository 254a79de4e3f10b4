// Harms PostgreSQL on purpose, on this machine, and holds the store to its promises.
//
//   node drills/postgres/main.ts [--rounds 20] [--freeze-seconds 10] [--queries 1000000]

import { parseArgs } from 'node:util';
import { newTable } from '../../src/cli/terminal.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { drillCommits } from './commits.ts';
import { openHttpDoor, openStoreDoor, type OpenDoor } from './door.ts';
import { drillFailover } from './failover.ts';
import { drillFaults } from './faults.ts';
import { drillMarkers, openMixedUp } from './markers.ts';
import { patroniMissing } from './patroni-cluster.ts';
import { drillPatroni } from './patroni.ts';

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
const render = newTable([{ widthMin: 32 }, { widthMin: 32 }]);

const violations = [
  ...(await commits('store', openStoreDoor)),
  ...(await commits('http', openHttpDoor)),
  ...(await faults('store', openStoreDoor)),
  ...(await faults('http', openHttpDoor)),
  ...(await failover('store', openStoreDoor)),
  ...(await failover('http', openHttpDoor)),
  ...(await patroni('http', openHttpDoor)),
  ...(await markers()),
];
for (const violation of violations.slice(0, 20)) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(`${violations.length} violations\n`);
process.exitCode = violations.length === 0 ? 0 : 1;

async function commits(door: string, openDoor: OpenDoor): Promise<string[]> {
  const reports = await drillCommits({
    rounds,
    isDurable: true,
    openDoor,
    onRound: ({ round, acknowledged, violations: broken }) =>
      line(
        door,
        `synchronous_commit = off, ${round}`,
        `${acknowledged} acknowledged`,
        broken.length,
      ),
  });
  if (reports.every(({ isControlLost }) => !isControlLost)) {
    return ['the control lost no commit: the drill finds nothing'];
  }
  return reports.flatMap((report) => report.violations);
}

async function faults(door: string, openDoor: OpenDoor): Promise<string[]> {
  line(door, 'round', 'fault', 'recovered after');
  const report = await drillFaults({
    rounds,
    freezeMs,
    isDurable: true,
    openDoor,
    onRound: ({ fault, round, recoveryMs }) => line(door, round, fault, `${recoveryMs} ms`),
  });
  const { calls, acknowledged, refused, slowestCallMs } = report;
  line(door, `${calls} calls`, `${acknowledged} acknowledged`, `${refused} refused`);
  line(door, 'slowest call', `${slowestCallMs} ms`);
  return report.violations;
}

async function failover(door: string, openDoor: OpenDoor): Promise<string[]> {
  const report = await drillFailover({ isDurable: true, openDoor });
  line(door, 'failover', `${report.acknowledged} acknowledged`, `${report.recoveryMs} ms`);
  return report.violations;
}

async function patroni(door: string, openDoor: OpenDoor): Promise<string[]> {
  const missing = patroniMissing();
  if (missing !== undefined) {
    line(door, 'patroni of the leader killed', `skipped: ${missing}`);
    return [];
  }
  const report = await drillPatroni(openDoor);
  line(
    door,
    'patroni of the leader killed',
    `${report.acknowledged} acknowledged`,
    `${report.recoveryMs} ms`,
  );
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
  process.stdout.write(render([cells]));
}

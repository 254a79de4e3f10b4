// Injects faults into PostgreSQL, on this machine, and checks that the store keeps its promises.
//
//   node drills/postgres/main.ts [--rounds 20] [--freeze-seconds 10] [--queries 1000000]

import { parseArgs } from 'node:util';
import { newTable } from '../../src/cli/terminal.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { drillCommits } from './commits.ts';
import { drillFailover } from './failover.ts';
import { drillFaults } from './faults.ts';
import { drillMarkers, openMixedUp } from './markers.ts';
import { findMissingProgram } from './patroni-cluster.ts';
import { drillPatroni } from './patroni.ts';
import { openHttpTarget, openStoreTarget, type OpenTarget } from './target.ts';

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
  ...(await commits('store', openStoreTarget)),
  ...(await commits('http', openHttpTarget)),
  ...(await faults('store', openStoreTarget)),
  ...(await faults('http', openHttpTarget)),
  ...(await failover('store', openStoreTarget)),
  ...(await failover('http', openHttpTarget)),
  ...(await patroni('http', openHttpTarget)),
  ...(await markers()),
];
for (const violation of violations.slice(0, 20)) process.stdout.write(`VIOLATION ${violation}\n`);
process.stdout.write(`${violations.length} violations\n`);
process.exitCode = violations.length === 0 ? 0 : 1;

async function commits(target: string, openTarget: OpenTarget): Promise<string[]> {
  const reports = await drillCommits({
    rounds,
    isDurable: true,
    openTarget,
    onRound: ({ round, acknowledged, violations: found }) =>
      line(
        target,
        `synchronous_commit = off, ${round}`,
        `${acknowledged} acknowledged`,
        `${found.length} violations`,
      ),
  });
  if (reports.every(({ isControlLost }) => !isControlLost)) {
    return ['the control lost no commit, so this drill would not detect a loss'];
  }
  return reports.flatMap((report) => report.violations);
}

async function faults(target: string, openTarget: OpenTarget): Promise<string[]> {
  line(target, 'round', 'fault', 'recovered within');
  const report = await drillFaults({
    rounds,
    freezeMs,
    isDurable: true,
    openTarget,
    onRound: ({ fault, round, recoveryMs }) => line(target, round, fault, `${recoveryMs} ms`),
  });
  const { calls, acknowledged, refused, slowestCallMs } = report;
  line(target, `${calls} calls`, `${acknowledged} acknowledged`, `${refused} refused`);
  line(target, 'slowest call', `${slowestCallMs} ms`);
  return report.violations;
}

async function failover(target: string, openTarget: OpenTarget): Promise<string[]> {
  const report = await drillFailover({ isDurable: true, openTarget });
  line(target, 'failover', `${report.acknowledged} acknowledged`, `${report.recoveryMs} ms`);
  return report.violations;
}

async function patroni(target: string, openTarget: OpenTarget): Promise<string[]> {
  const missing = findMissingProgram();
  if (missing !== undefined) {
    line(target, "the leader's Patroni killed", `skipped: ${missing}`);
    return [];
  }
  const report = await drillPatroni(openTarget);
  line(
    target,
    "the leader's Patroni killed",
    `${report.acknowledged} acknowledged`,
    `${report.recoveryMs} ms`,
  );
  return report.violations;
}

async function markers(): Promise<string[]> {
  const server = await PostgresServer.start({ isDurable: true });
  try {
    const { responses, givenUp, wrong } = await drillMarkers({ url: server.url(), queries });
    line('markers', `${responses} responses, ${givenUp} given up`, `${wrong} wrong`);
    const control = await drillMarkers({
      url: server.url(),
      queries: Math.min(queries, 20_000),
      open: openMixedUp,
    });
    line('control', `${control.responses} responses`, `${control.wrong} wrong`);
    return [
      ...(wrong === 0 ? [] : [`${wrong} rows reached the wrong caller`]),
      ...(control.wrong > 0
        ? []
        : ['the control had no wrong row, so this drill would not detect one']),
    ];
  } finally {
    await server.close();
  }
}

function line(...cells: (string | number)[]): void {
  process.stdout.write(render([cells]));
}

import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillFailover } from './failover.ts';
import { openForgetfulTarget, openHttpTarget, openStoreTarget, type OpenTarget } from './target.ts';

export const drill: Drill = {
  purpose:
    'The primary of two synchronous PostgreSQL servers is stopped under load and the standby promoted: the same process continues there, with every acknowledged animal.',
  unit: 'failovers',
  rounds: 5,
  quickRounds: 1,
  run: async (options) =>
    mergeReports({
      store: await run(options, openStoreTarget),
      HTTP: await run(options, openHttpTarget),
    }),
  control: {
    brokenBy: 'a store that does not store every create it acknowledges',
    run: (options) => run(options, openForgetfulTarget),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  openTarget: OpenTarget,
): Promise<DrillReport> {
  const reports = [];
  for (let round = 1; round <= rounds; round += 1) {
    onProgress(`failover ${round} of ${rounds}`);
    reports.push(await drillFailover({ isDurable: true, openTarget }));
  }
  const acknowledged = reports.reduce((sum, report) => sum + report.acknowledged, 0);
  return {
    passed: acknowledged,
    violations: reports.flatMap(({ violations }) => violations),
    figures: {
      'creates acknowledged': acknowledged,
      'slowest recovery (ms)': Math.max(...reports.map(({ recoveryMs }) => recoveryMs)),
    },
  };
}

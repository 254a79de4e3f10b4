import { PostgresServer } from '../../test/support/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { StolenTime } from '../stolen-time.ts';
import { mergeReports } from '../stores.ts';
import { drillCrash, type CrashOptions } from './crash.ts';

const ROUNDS = 200;
const READY_MS_MAX = 2_000;

export const drill: Drill = {
  purpose:
    'kill -9 of the process, its primary, a worker, or the database under 32 writers: nothing acknowledged is lost or changed, and a repeated create stores no second animal.',
  unit: 'rounds',
  rounds: ROUNDS,
  quickRounds: 6,
  async run(options) {
    const half = Math.ceil(options.rounds / 2);
    const sqlite = await run(options, {
      rounds: half,
      victims: ['process', 'writer', 'primary', 'worker'],
    });
    const server = await PostgresServer.start({ isDurable: true });
    try {
      const postgres = await run(options, {
        rounds: Math.max(1, options.rounds - half),
        victims: ['process', 'primary', 'worker', 'database', 'session'],
        server,
      });
      return mergeReports({ SQLite: sqlite, PostgreSQL: postgres });
    } finally {
      await server.close();
    }
  },
  control: {
    brokenBy: 'most creates are acknowledged before their commit',
    run: (options) =>
      run(options, {
        rounds: options.rounds,
        victims: ['process', 'writer'],
        nodeFlags: brokenBy('commits-late'),
      }),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  variant: Omit<CrashOptions, 'seed' | 'onProgress'>,
): Promise<DrillReport> {
  using stolenTime = new StolenTime();
  const report = await drillCrash({
    ...variant,
    seed,
    onProgress: (round, victim, { acknowledged, violations }) =>
      onProgress(
        `round ${round} of ${variant.rounds}: ${victim}; ${acknowledged} acknowledged, ${violations.length} violations`,
      ),
  });
  // A start during which the host of this machine was busy shows nothing, nor does one of a short run, in which
  // another drill may run too.
  const { tookMs, share } = stolenTime.undisturbed(report.starts);
  const late = rounds < ROUNDS ? [] : tookMs.filter((ms) => ms > READY_MS_MAX);
  return {
    passed: report.acknowledged,
    violations: [...report.violations, ...late.map((ms) => `it took ${ms} ms to be ready`)],
    figures: {
      killed: Object.entries(report.rounds)
        .map(([victim, count]) => `${victim} ${count}`)
        .join(' '),
      'creates acknowledged': report.acknowledged,
      'creates without a response, repeated': report.repeated,
      'starts without a database': report.refusedStarts,
      'ready after the start (ms, median and slowest)': `${tookMs[tookMs.length >> 1]} ${tookMs.at(-1)}`,
      'share of the starts that the host did not disturb': share.toFixed(2),
    },
  };
}

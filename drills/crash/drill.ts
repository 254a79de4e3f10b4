import { PostgresServer } from '../../test/support/postgres-server.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { StolenTime } from '../stolen-time.ts';
import { mergeReports } from '../stores.ts';
import { drillCrash, type CrashOptions } from './crash.ts';

const ROUNDS = 200;
const READY_MS_MAX = 2_000;

export const drill: Drill = {
  promise:
    'Nothing acknowledged is lost or changed when a process is killed or its store file is moved away, and a repeated create stores no second animal.',
  method:
    '32 writers, each of whose requests must get a response or a closed connection. SIGKILL of the process, of the process while it commits or while commits take 20 ms, of the primary, of a worker, of all processes of PostgreSQL, of one of its sessions; or the file or its folder is moved away, and the service must end with one line. Restart; every create without a response is repeated; `verify` after each round.',
  unit: 'rounds',
  rounds: ROUNDS,
  quickRounds: 8,
  async run(options) {
    const half = Math.ceil(options.rounds / 2);
    const sqlite = await run(options, {
      rounds: half,
      victims: ['process', 'writer', 'slow commit', 'primary', 'worker', 'file'],
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
    brokenBy: 'creates are acknowledged, and committed directly afterwards',
    finds: ['is lost'],
    run: (options) =>
      run(options, {
        rounds: options.rounds,
        victims: ['slow commit'],
        nodeFlags: brokenBy('acknowledges-early'),
      }),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  variant: Omit<CrashOptions, 'seed' | 'onProgress'>,
): Promise<DrillReport> {
  using stolenTime = new StolenTime();
  const report = await drillCrash({ ...variant, seed, onProgress });
  // A start during which the host of this machine was busy shows nothing, nor does one of a short run, in which
  // another drill may run too.
  const { tookMs, share } = stolenTime.undisturbed(report.starts);
  const late = rounds < ROUNDS ? [] : tookMs.filter((ms) => ms > READY_MS_MAX);
  return {
    passed: report.acknowledged,
    violations: [...report.violations, ...late.map((ms) => `it took ${ms} ms to be ready`)],
    figures: {
      'creates acknowledged': report.acknowledged,
      'creates without a response, repeated': report.unanswered,
      'starts without a database': report.refusedStarts,
      'ready after the start, median and slowest (ms)': `${tookMs[tookMs.length >> 1]}, ${tookMs.at(-1)}`,
      'share of the starts that the host did not disturb': share.toFixed(2),
    },
  };
}

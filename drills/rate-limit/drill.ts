import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillRateLimit } from './rate-limit.ts';

export const drill: Drill = {
  purpose:
    'Two processes on one PostgreSQL get twice the rate limit of a key, in random parts: together they accept the limit within 5 %, and never more.',
  unit: 'rounds',
  rounds: 200,
  quickRounds: 10,
  run: (options) => run(options, false),
  control: { brokenBy: 'a database per process', run: (options) => run(options, true) },
};

async function run(options: DrillOptions, isApart: boolean): Promise<DrillReport> {
  const { accepted, requests, violations } = await drillRateLimit({ ...options, isApart });
  return {
    passed: accepted.length - violations.length,
    violations,
    figures: {
      requests,
      'accepted of 200 per key, fewest and most': `${Math.min(...accepted)}, ${Math.max(...accepted)}`,
      'keys with exactly 200': accepted.filter((count) => count === 200).length,
    },
  };
}

import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillHostileHttp } from './hostile-http.ts';

export const drill: Drill = {
  promise:
    'Every error is an Error. A request that was refused has no effect, and each response belongs to its request.',
  method:
    'Over 100 malformed requests, seven whose end is ambiguous, and random changes of good ones, up to five per connection.',
  unit: 'requests',
  rounds: 200_000,
  quickRounds: 5_000,
  run: (options) => run(options),
  control: {
    brokenBy: 'a lenient parser, and plain text instead of Errors',
    finds: ['out of order', '400 with Bad Request'],
    run: async (options) =>
      mergeReports({
        'lenient parser': await run(options, ['--insecure-http-parser']),
        'plain text': await run(options, brokenBy('plain-errors')),
      }),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags: readonly string[] = [],
): Promise<DrillReport> {
  const report = await drillHostileHttp({
    requests: rounds,
    seed,
    nodeFlags,
    onProgress: (requests) => onProgress(`${requests} of ${rounds} requests`),
  });
  return {
    passed: report.requests,
    violations: report.violations,
    figures: {
      requests: report.requests,
      responses: report.responses,
      'animals created': report.created,
      'memory after a tenth, at the end (MiB)': report.memoryMib.join(', '),
    },
  };
}

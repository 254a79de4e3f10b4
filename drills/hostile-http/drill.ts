import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillHostileHttp } from './hostile-http.ts';

export const drill: Drill = {
  purpose:
    'Malformed and mutated requests, several per connection: every response is an Error with its own status or the right response, and nothing that was refused is stored.',
  unit: 'requests',
  rounds: 200_000,
  quickRounds: 5_000,
  run: (options) => run(options),
  control: {
    brokenBy: 'a lenient parser, and plain text instead of Errors',
    run: (options) => run(options, ['--insecure-http-parser', ...brokenBy('plain-errors')]),
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

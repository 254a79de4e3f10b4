// Malformed and mutated requests, several per connection: every response must be an Error with its own status
// or the right response, and nothing that was refused may be stored.
//
//   node drills/hostile-http/main.ts [--requests 200000] [--seed 1]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { printViolations, parseCount } from '../fleet/report.ts';
import { drillHostileHttp } from './hostile-http.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '200000' },
    seed: { type: 'string', default: '1' },
  },
});
const progress = new Progress(process.stderr);
const report = await drillHostileHttp({
  requests: parseCount('--requests', values.requests),
  seed: parseCount('--seed', values.seed),
  onProgress: (requests) => {
    if (requests % 1_000 < 5) progress.show(`${requests} requests`);
  },
});
progress.clear();
process.stdout.write(
  renderTable([
    ['requests', report.requests],
    ['responses', report.responses],
    ['animals created', report.created],
    ['memory after a tenth, at the end (MiB)', report.memoryMib.join(', ')],
  ]),
);
process.exitCode = printViolations(report.violations);

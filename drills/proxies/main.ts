// Runs each installed proxy with its file from contrib/ in front of the service. No request may fail under
// load, or after a silence about as long as the service keeps an idle connection.
//
//   node drills/proxies/main.ts [--requests 2000] [--silences 61,62,63,64,65,66]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { isInstalled, PROXY_PROGRAMS } from '../../test/proxies.ts';
import { printViolations, parseCount } from '../fleet/report.ts';
import { drillProxy } from './proxies.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    silences: { type: 'string', default: '61,62,63,64,65,66' },
  },
});
const requests = parseCount('--requests', values.requests);
const silences = values.silences.split(',').map((text) => parseCount('--silences', text));
const progress = new Progress(process.stderr);
const violations: string[] = [];
for (const kind of PROXY_PROGRAMS) {
  if (!isInstalled(kind)) {
    process.stdout.write(`${kind.name} is not installed and was skipped\n`);
    continue;
  }
  progress.show(`${kind.name}: ${requests} requests, then silences`);
  const report = await drillProxy(kind, { requests, silences });
  progress.clear();
  process.stdout.write(
    renderTable([
      ['proxy', kind.name],
      ['requests', requests],
      ['requests that failed', report.failed],
      ['connections to the service', report.connections],
      ['creates after a silence', silences.length],
      ['creates that failed', report.failedAfterSilence],
      ['idle connection ended by', report.endedBy],
      ['ended after seconds', report.endedAfterSeconds],
    ]),
  );
  violations.push(...report.violations.map((violation) => `${kind.name}: ${violation}`));
}
process.exitCode = printViolations(violations);

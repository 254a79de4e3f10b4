// Two processes on one SQLite file: a read through one of them must see every create that the other
// acknowledged before the read was sent.
//
//   node drills/stale-reads/main.ts [--reads 2000]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { printViolations, parseCount } from '../fleet/report.ts';
import { drillStaleReads } from './stale-reads.ts';

const { values } = parseArgs({ options: { reads: { type: 'string', default: '2000' } } });
const progress = new Progress(process.stderr);
progress.show('starting');
const report = await drillStaleReads({
  reads: parseCount('--reads', values.reads),
  onProgress: (reads) => progress.show(`${reads} reads`),
});
progress.clear();
process.stdout.write(
  renderTable([
    ['creates acknowledged', report.creates],
    ['reads after a create', report.reads],
  ]),
);
process.exitCode = printViolations(report.violations);

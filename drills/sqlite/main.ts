// Deletes, replaces and moves the SQLite file under load. Every create that is sent after that and
// acknowledged must be in the final file. The service must be ready again without a restart as soon as a valid
// file is in place.
//
//   node drills/sqlite/main.ts [--rounds 20] [--workers 1]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { printViolations, parseCount } from '../fleet/report.ts';
import { drillReplacedFile } from './replaced-file.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    workers: { type: 'string', default: '1' },
  },
});
const rounds = parseCount('--rounds', values.rounds);
const workers = parseCount('--workers', values.workers);
const progress = new Progress(process.stderr);
progress.show('starting');
const report = await drillReplacedFile({
  rounds,
  workers,
  onProgress: (round, fault) => progress.show(`round ${round + 1} of ${rounds}: ${fault}`),
});
progress.clear();
process.stdout.write(
  renderTable([
    ['rounds', report.rounds],
    ['workers', workers],
    ['creates acknowledged', report.acknowledged],
    ['of these sent after the fault', report.sentAfterLoss],
    ['creates refused with 503', report.refused],
    ['slowest refusal, ms', Math.round(report.slowestRefusalMs)],
    ['slowest to be ready again, ms', Math.round(report.slowestReadyMs)],
  ]),
);
process.exitCode = printViolations(report.violations);

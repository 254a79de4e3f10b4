// The file of the embedded store is deleted, replaced and moved away under load: no create that is sent
// after that may be acknowledged unless the final file holds it, and the service must be ready again
// without a restart once a good file is there.
//
//   node drills/sqlite/main.ts [--rounds 20] [--workers 1]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { conclude, parseCount } from '../fleet/report.ts';
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
    ['of these sent after the loss', report.sentAfterLoss],
    ['creates refused with 503', report.refused],
    ['slowest refusal, ms', Math.round(report.slowestRefusalMs)],
    ['slowest to be ready again, ms', Math.round(report.slowestReadyMs)],
  ]),
);
process.exitCode = conclude(report.violations);

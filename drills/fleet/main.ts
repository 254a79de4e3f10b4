// Runs four processes of the service on one PostgreSQL, on this machine. Sixteen clients create animals
// through all four. A reader that follows the list meanwhile must see every animal exactly once, in order.
//
//   node drills/fleet/main.ts [--animals 100000]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { drillFleet } from './fleet.ts';
import { printViolations, parseCount } from './report.ts';

const PROCESSES = 4;
const SHOWN_EVERY = 10_000;

const { values } = parseArgs({ options: { animals: { type: 'string', default: '100000' } } });
const animals = parseCount('--animals', values.animals);
const progress = new Progress(process.stderr);
progress.show(`starting PostgreSQL and ${PROCESSES} processes`);
const report = await drillFleet({
  processes: PROCESSES,
  animals,
  isDurable: true,
  onProgress(acknowledged, seen) {
    if (acknowledged % SHOWN_EVERY !== 0) return;
    progress.show(`${acknowledged} of ${animals} acknowledged, ${seen} read`);
  },
});
progress.clear();
process.stdout.write(
  renderTable([
    ['processes', PROCESSES],
    ['animals acknowledged', report.acknowledged],
    ['seconds', report.loadSeconds.toFixed(1)],
    ['creates per second', Math.round(report.acknowledged / report.loadSeconds)],
    ['read during the load', report.seenDuringLoad],
    ['read in the end', report.seen],
    ['pages read', report.pages],
  ]),
);
process.exitCode = printViolations(report.violations);

// Four processes of the service on one PostgreSQL, on this machine: a reader that follows the list while
// sixteen clients create through all four must meet every animal, each exactly once, in order.
//
//   node drills/fleet/main.ts [--animals 100000]

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../../src/cli/terminal.ts';
import { drillFleet } from './fleet.ts';
import { conclude, parseCount } from './report.ts';

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
  onProgress(acknowledged, met) {
    if (acknowledged % SHOWN_EVERY !== 0) return;
    progress.show(`${acknowledged} of ${animals} acknowledged, ${met} met`);
  },
});
progress.clear();
process.stdout.write(
  renderTable([
    ['processes', PROCESSES],
    ['animals acknowledged', report.acknowledged],
    ['in seconds', report.loadSeconds.toFixed(1)],
    ['a second', Math.round(report.acknowledged / report.loadSeconds)],
    ['met by the reader during the load', report.metDuringLoad],
    ['met by the reader in the end', report.met],
    ['pages it read', report.pages],
  ]),
);
process.exitCode = conclude(report.violations);

// Runs drills, on this machine.
//
//   npm run drill                                  all but those that must be named
//   npm run drill -- --list                        what there is
//   npm run drill -- NAME… [--rounds N] [--seed S] some of them; a failure prints the seed that repeats it
//   npm run drill -- [NAME…] --quick               few rounds
//
// Each drill also runs on a variant that is broken on purpose, its control, which must report violations.

import { parseArgs } from 'node:util';
import { Progress, renderTable } from '../src/cli/terminal.ts';
import type { Drill, DrillReport } from './drill.ts';
import { DRILLS } from './drills.ts';

const VIOLATIONS_SHOWN_MAX = 20;
const SEED_MAX = 999_999_999;

interface Selection {
  rounds: number | undefined;
  seed: number;
  isQuick: boolean;
}

interface Outcome {
  passed: number;
  failed: number;
}

// What a drill has started is killed at the exit, which an interrupt would skip.
process.once('SIGINT', () => process.exit(1));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const unknown = positionals.find((name) => !(name in DRILLS));
if (unknown !== undefined) {
  refuse(`"${unknown}" is not a drill: it must be one of ${Object.keys(DRILLS).join(', ')}.`);
}
const selection: Selection = {
  rounds: values.rounds === undefined ? undefined : parseCount('--rounds', values.rounds),
  seed:
    values.seed === undefined
      ? Math.ceil(Math.random() * SEED_MAX)
      : parseCount('--seed', values.seed),
  isQuick: values.quick,
};
const progress = new Progress(process.stderr);
if (values.list) await list();
else await runAll(positionals);

async function list(): Promise<void> {
  const rows = [];
  for (const [name, load] of Object.entries(DRILLS)) {
    const { drill } = await load();
    const rounds = `${drill.rounds} ${drill.unit}${drill.isNamedOnly === true ? ', if named' : ''}`;
    rows.push([name, rounds, drill.purpose]);
  }
  process.stdout.write(renderTable(rows));
}

async function runAll(names: readonly string[]): Promise<void> {
  const total: Outcome = { passed: 0, failed: 0 };
  const failedNames: string[] = [];
  for (const [name, load] of Object.entries(DRILLS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const { drill } = await load();
    if (names.length === 0 && drill.isNamedOnly === true) continue;
    const outcome = await runOne(name, drill);
    total.passed += outcome.passed;
    total.failed += outcome.failed;
    if (outcome.failed > 0) failedNames.push(name);
  }
  const named = failedNames.length === 0 ? '' : ` (${failedNames.join(', ')})`;
  process.stdout.write(`all: ${total.passed} passed, ${total.failed} failed${named}\n`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

async function runOne(name: string, drill: Drill): Promise<Outcome> {
  const { seed, isQuick } = selection;
  process.stdout.write(`${name}: ${drill.purpose}\n`);
  const missing = drill.findMissing?.();
  if (missing !== undefined) {
    process.stdout.write(`${name}: skipped, because ${missing}\n\n`);
    return { passed: 0, failed: 0 };
  }
  const rounds = selection.rounds ?? (isQuick ? drill.quickRounds : drill.rounds);
  const onProgress = (text: string) => progress.show(`${name}: ${text}`);
  const startedMs = performance.now();
  const report = await drill.run({ rounds, seed, onProgress });
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  progress.clear();
  print(report, { [drill.unit]: rounds, seed, seconds });
  if (report.violations.length > 0) {
    process.stdout.write(`Repeat: npm run drill -- ${name} --rounds ${rounds} --seed ${seed}\n`);
  }
  const control = await drill.control.run({ rounds: drill.quickRounds, seed, onProgress });
  progress.clear();
  const found = control.violations.length;
  process.stdout.write(`control (${drill.control.brokenBy}): ${found} violations\n`);
  const failed = report.violations.length + (found === 0 ? 1 : 0);
  if (found === 0) process.stdout.write('VIOLATION the control must report violations\n');
  process.stdout.write(`${name}: ${report.passed} passed, ${failed} failed\n\n`);
  return { passed: report.passed, failed };
}

function print(report: DrillReport, run: Record<string, number>): void {
  process.stdout.write(renderTable(Object.entries({ ...run, ...report.figures })));
  for (const violation of report.violations.slice(0, VIOLATIONS_SHOWN_MAX)) {
    process.stdout.write(`VIOLATION ${violation}\n`);
  }
}

/** Parses a count of the command line. */
function parseCount(flag: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  return refuse(`${flag} is "${text}": it must be an integer from 1 to ${SEED_MAX}.`);
}

function refuse(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}

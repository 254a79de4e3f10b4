// docs/reliability.md: one table, and one heading per promise. `npm run drill -- NAME… --write` replaces the rows and
// sections of the drills that were run, and leaves the others as they are.

import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';
import type { Drill, DrillReport } from './drill.ts';

const BEGIN = '<!-- Written by `npm run drill -- NAME… --write`: do not edit. -->';
const END = '<!-- The end of what the program writes. -->';
const HEAD = '| Drill | Checks | Violations | Run | Commit | Date |\n|---|---|---|---|---|---|';
const GIB = 1024 ** 3;

/** What is written about one run of a drill. */
export interface Entry {
  name: string;
  drill: Drill;
  rounds: number;
  seed: number;
  seconds: number;
  report: DrillReport;
  /** What the control found first; undefined if it did not find what it must. */
  controlFound: string | undefined;
}

/** Where and when the drills were run. */
export interface Origin {
  commit: string;
  date: string;
  machine: string;
}

export function originOf(root: string): Origin {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const isChanged = git('status', '--porcelain', '--', '.', ':!docs/reliability.md') !== '';
  const [processor] = cpus();
  const memoryGib = Math.round(totalmem() / GIB);
  return {
    commit: `${git('rev-parse', '--short', 'HEAD').trim()}${isChanged ? ' with changes' : ''}`,
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} cores of ${processor?.model.trim()}, ${memoryGib} GiB, ${type()} ${release()}, Node.js ${process.version}`,
  };
}

/** The document with these runs. `names` are all drills, in their order: others are removed. */
export function updateDocument(
  text: string,
  entries: readonly Entry[],
  { origin, names }: { origin: Origin; names: readonly string[] },
): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error('docs/reliability.md has lost its marks');
  const written = text.slice(begin + BEGIN.length, end);
  const rows: string[] = [];
  const sections: string[] = [];
  for (const name of names) {
    const entry = entries.find((each) => each.name === name);
    const row = written.split('\n').find((line) => line.startsWith(`| [${name}](`));
    const section = written.split(/^(?=### )/m).find((part) => part.startsWith(`### ${name}\n`));
    const [newRow, newSection] =
      entry === undefined ? [row, section] : [rowOf(entry, origin), sectionOf(entry, origin)];
    if (newRow !== undefined) rows.push(newRow);
    if (newSection !== undefined) sections.push(newSection.trim());
  }
  const table = [HEAD, ...rows].join('\n');
  return [`${text.slice(0, begin)}${BEGIN}`, table, ...sections, text.slice(end)].join('\n\n');
}

function rowOf(entry: Entry, { commit, date }: Origin): string {
  const { name, drill, rounds, seconds, report, controlFound } = entry;
  const { length } = report.violations;
  const violations =
    controlFound === undefined ? `${shown(length)}; control failed` : shown(length);
  const run = `${shown(rounds)} ${drill.unit}, ${shown(seconds)} s`;
  const cells = [`[${name}](#${name})`, shown(report.passed), violations, run, commit, date];
  return `| ${cells.join(' | ')} |`;
}

function sectionOf(entry: Entry, { commit, date, machine }: Origin): string {
  const { name, drill, rounds, seed, report, controlFound } = entry;
  const { brokenBy, finds } = drill.control;
  const figures = Object.entries(report.figures).map(
    ([title, figure]) => `- ${title}: ${typeof figure === 'number' ? shown(figure) : figure}`,
  );
  const found = finds.map((text) => `"${text.trim()}"`).join(' and ');
  return [
    `### ${name}`,
    drill.promise,
    drill.method,
    `Control: ${brokenBy}. It must report ${found}, and ${controlFound === undefined ? 'did not' : 'did'}.`,
    ...report.violations.slice(0, 1).map((violation) => `**Violation: ${oneLine(violation)}**`),
    ...(figures.length === 0 ? [] : [figures.join('\n')]),
    `\`npm run drill ${name}\`, ${shown(rounds)} ${drill.unit}, seed ${seed}, ${date}, commit ${commit}, ${machine}`,
  ].join('\n\n');
}

const shown = (figure: number) => figure.toLocaleString('en-US');
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 300);

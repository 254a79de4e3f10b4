// docs/reliability.md: one table with the last runs of each drill, and one heading per promise. A run of
// `npm run drill -- NAME… --write` adds its row, whether it passed or failed, and its section has the newest figures.

import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';
import type { Drill, DrillReport } from './drill.ts';

const BEGIN = '<!-- Written by `npm run drill -- NAME… --write`: do not edit. -->';
const END = '<!-- The end of what the program writes. -->';
const HEAD =
  '| Drill | Checks | Violations | Repetitions | Run | Seed | Commit | Date |\n|---|---|---|---|---|---|---|---|';
/** Of each drill. Older ones are in the history of the page. */
const RUNS_SHOWN_MAX = 5;
const FAILED = '**Violation';
const GIB = 1024 ** 3;

/** What is written about one run of a drill. */
export interface Entry {
  name: string;
  drill: Drill;
  rounds: number;
  seed: number;
  seconds: number;
  report: DrillReport;
  /** Whether a run before it failed, and did not count because the host took time. */
  isRepeated?: boolean;
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

/** The commit of the newest run of this drill that the document has. */
export function lastCommitOf(name: string, text: string): string | undefined {
  const row = text.split('\n').find((line) => line.startsWith(`| [${name}](`));
  return row?.split(' | ').at(-2)?.split(' ')[0];
}

/** How old a run of this commit is, in commits that changed the sources. */
export function changesSince(root: string, commit: string): string {
  const args = ['rev-list', '--count', `${commit}..HEAD`, '--', 'src'];
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? `${stdout.trim()} commits of src/ since` : 'of an unknown commit';
}

/** The document with this run. `names` are all drills, in their order: others are removed. */
export function updateDocument(
  text: string,
  entry: Entry,
  { origin, names }: { origin: Origin; names: readonly string[] },
): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error('docs/reliability.md has lost its marks');
  const written = text.slice(begin + BEGIN.length, end);
  const rows: string[] = [];
  const sections: string[] = [];
  for (const name of names) {
    const isRun = entry.name === name;
    const before = written.split('\n').filter((line) => line.startsWith(`| [${name}](`));
    const section = written.split(/^(?=### )/m).find((part) => part.startsWith(`### ${name}\n`));
    rows.push(...(isRun ? [rowOf(entry, origin), ...before] : before).slice(0, RUNS_SHOWN_MAX));
    const failed = section?.split('\n').filter((line) => line.startsWith(FAILED)) ?? [];
    const newest = isRun ? sectionOf(entry, origin, failed) : section;
    if (newest !== undefined) sections.push(newest.trim());
  }
  const table = [HEAD, ...rows].join('\n');
  return [`${text.slice(0, begin)}${BEGIN}`, table, ...sections, text.slice(end)].join('\n\n');
}

function rowOf(entry: Entry, { commit, date }: Origin): string {
  const { name, drill, rounds, seed, seconds, report, controlFound } = entry;
  const { length } = report.violations;
  const violations =
    controlFound === undefined ? `${shown(length)}; control failed` : shown(length);
  const run = `${shown(rounds)} ${drill.unit}, ${shown(seconds)} s`;
  const repetitions = entry.isRepeated === true ? '1' : '0';
  const checks = [`[${name}](#${name})`, shown(report.passed), violations, repetitions];
  const cells = [...checks, run, seed, commit, date];
  return `| ${cells.join(' | ')} |`;
}

/** `failed` are the lines of the failed runs before. */
function sectionOf(entry: Entry, { commit, machine }: Origin, failed: readonly string[]): string {
  const { name, drill, seed, report, controlFound } = entry;
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
    ...[
      ...report.violations
        .slice(0, 1)
        .map((violation) => `${FAILED} of seed ${seed}, commit ${commit}: ${oneLine(violation)}**`),
      ...failed,
    ].slice(0, RUNS_SHOWN_MAX),
    ...(figures.length === 0 ? [] : [figures.join('\n')]),
    `Measured on ${machine}.`,
  ].join('\n\n');
}

const shown = (figure: number) => figure.toLocaleString('en-US');
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 300);

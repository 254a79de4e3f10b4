// What the runs of drills have shown, and docs/reliability.md, whose table has a row for each drill: its command, its
// promise, its controls, and its newest full run, which a run with `--write` replaces.

import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type { run } from 'node:test';

export interface Outcome {
  /** Tests of the drill: searches and controls. */
  passed: number;
  checks: number;
  figures: string[];
  /** The first line of each test that failed. */
  failures: string[];
  skipped: string[];
  /** Whether it was not stopped before its end. */
  hasEnded: boolean;
  seconds: number;
}

/** Of a test: the file that runs, and the one that declares it. */
interface Place {
  entryFile?: string | undefined;
  file?: string | undefined;
}

/** Follows a run of the files of these drills. */
export function collect(
  stream: ReturnType<typeof run>,
  names: readonly string[],
): ReadonlyMap<string, Outcome> {
  const outcomes = new Map(names.map((name) => [name, newOutcome()]));
  const outcomeOf = ({ entryFile, file = '' }: Place) =>
    outcomes.get(basename(entryFile ?? file, '.drill.ts')) ?? newOutcome();
  stream.on('test:pass', (data) => {
    const { skip, details } = data;
    if (details.type === 'suite') return;
    const outcome = outcomeOf(data);
    if (typeof skip !== 'string') outcome.passed += 1;
    else if (!outcome.skipped.includes(skip)) outcome.skipped.push(skip);
  });
  stream.on('test:fail', (data) => {
    const { name, details } = data;
    const { error } = details;
    const outcome = outcomeOf(data);
    if (details.type === 'suite') return;
    if (isAborted(error)) outcome.hasEnded = false;
    else outcome.failures.push(`${name}: ${messageOf(error)}`);
  });
  stream.on('test:diagnostic', (data) => {
    const { message } = data;
    const outcome = outcomeOf(data);
    const checks = /^checks: ([\d,]+)$/.exec(message)?.[1];
    if (checks !== undefined) outcome.checks += Number(checks.replaceAll(',', ''));
    else if (!message.startsWith(NOTICED)) outcome.figures.push(message);
  });
  stream.on('test:summary', (data) => {
    outcomeOf(data).seconds = Math.round(data.duration_ms / 1_000);
  });
  return outcomes;
}

/** A control reports with it what it has noticed. */
export const NOTICED = 'noticed, as it must: ';

function newOutcome(): Outcome {
  return {
    passed: 0,
    checks: 0,
    figures: [],
    failures: [],
    skipped: [],
    hasEnded: true,
    seconds: 0,
  };
}

const isAborted = (error: Error) => 'failureType' in error && error.failureType === 'testAborted';

function messageOf({ cause, message }: Error): string {
  const text = cause instanceof Error ? cause.message : message;
  return text.split('\n')[0] ?? '';
}

/** What was skipped or not reached, and one line of counts, which `.ci/run` reads. */
export function linesOf(outcomes: ReadonlyMap<string, Outcome>): string {
  const all = [...outcomes.values()];
  const sum = (of: 'passed' | 'checks') => all.reduce((total, each) => total + each[of], 0);
  const failed = all.flatMap(({ failures }) => failures).length;
  const lines = [...outcomes].flatMap(([name, { skipped, hasEnded }]) => [
    ...skipped.map((reason) => `Skipped ${name}: ${reason}\n`),
    ...(hasEnded ? [] : [`Not reached: ${name}\n`]),
  ]);
  const counts = `${sum('passed')} passed, ${failed} failed, ${sum('checks')} checks held`;
  return `${lines.join('')}drills: ${counts}\n`;
}

const ROW = /^\| `npm run drill -- ([\w-]+)` \| ([^|]*) \| ([^|]*) \|/;

/** The name and the promise of each drill. */
export function promisesOf(document: string): [string, string][] {
  return document.split('\n').flatMap((line) => {
    const [, name, promise] = ROW.exec(line) ?? [];
    return name === undefined || promise === undefined ? [] : [[name, promise] as const];
  });
}

export interface Run {
  name: string;
  outcome: Pick<Outcome, 'checks' | 'figures' | 'seconds'> & { failures: readonly string[] };
  seed: number;
  root: string;
}

/** The document with this run of a drill in its row. Whatever it showed. */
export function withRun(document: string, { name, outcome, seed, root }: Run): string {
  const { failures, figures, checks, seconds } = outcome;
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const isChanged = git('status', '--porcelain', '--', '.', ':!docs/reliability.md') !== '';
  const commit = `${git('rev-parse', '--short', 'HEAD').trim()}${isChanged ? ' with changes' : ''}`;
  const cell = [
    `${checks.toLocaleString('en-US')} checks, ${failures.length} failed`,
    ...failures.map((failure) => `**${failure.slice(0, 300)}**`),
    ...figures,
    `seed ${seed}, ${seconds} s on ${availableParallelism()} cores, ${commit}, ${new Date().toISOString().slice(0, 10)}`,
  ].join('; ');
  const lines = document.split('\n').map((line) => {
    const [row, found] = ROW.exec(line) ?? [];
    return found === name ? `${row} ${cell.replaceAll(/\s*\|\s*/g, ' ')} |` : line;
  });
  if (lines.join('\n') === document) throw new Error(`docs/reliability.md has no row of ${name}`);
  return lines.join('\n');
}

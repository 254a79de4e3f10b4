import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Outcome } from './bench.ts';
import type { Factors } from './capacity.ts';

/** What a run of one measurement has found, and where. The documents are made from it. */
export interface Entry extends Outcome {
  commit: string;
  /** Such as 2026-11-17. */
  date: string;
  machine: string[];
  /** How long it took. */
  minutes?: number;
  /** What disturbed the measurement, if it was written all the same. */
  disturbedBy?: string;
}

/** By the name of the measurement. */
export type Results = Record<string, Entry>;

const FILE = new URL('./results.json', import.meta.url);
const ROOT = new URL('..', import.meta.url);
/** What decides about the figures. */
const MEASURED_PATHS = ['src', 'bin', 'bench', 'package.json', 'package-lock.json'];

/** Counts the changes of the file's content that an older program cannot read, or a newer one. */
const FORM = 2;

/** Throws if another version of this program wrote the file. */
export function readResults(file = FILE): Results {
  if (!existsSync(file)) return {};
  const { form, results } = JSON.parse(readFileSync(file, 'utf8')) as {
    form?: number;
    results?: Results;
  };
  if (form === FORM && results !== undefined) return results;
  throw new Error(
    `bench/results.json has form ${form ?? 1}, not ${FORM}; remove it, and run "npm run bench" to measure again.`,
  );
}

export function writeResults(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify({ form: FORM, results }, null, 1)}\n`);
}

/** The commit that is checked out, and whether files that matter differ from it. */
export function currentCommit(): string {
  const commit = git('rev-parse', '--short=10', 'HEAD').trim();
  const paths = [...MEASURED_PATHS, ':!bench/results.json'];
  const changed = git('status', '--porcelain', '--', ...paths).trim();
  return changed === '' ? commit : `${commit} with local changes`;
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

/** The inputs of the model. Throws if a measurement that it needs is missing. */
export function factorsOf(results: Results): Factors {
  const sqliteCost = (name: string) => {
    const cells = results[name]?.cells ?? [];
    return cells.find(({ contender }) => contender === 'petstore')?.median;
  };
  const factors = {
    ...results['capacity']?.factors,
    sqliteListMicroseconds: sqliteCost('cursor'),
    sqliteCreateMicroseconds: sqliteCost('create'),
  };
  if (results['capacity']?.factors === undefined || Object.values(factors).includes(undefined)) {
    throw new Error('the model needs the measurements capacity, cursor and create');
  }
  return factors as unknown as Factors;
}

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
  /** What disturbed the measurement, if it was written all the same. */
  disturbedBy?: string;
}

/** By the name of the measurement. */
export type Results = Record<string, Entry>;

const FILE = new URL('./results.json', import.meta.url);
const ROOT = new URL('..', import.meta.url);
/** What decides about the figures. */
const MEASURED_PATHS = ['src', 'bin', 'bench', 'package.json', 'package-lock.json'];

export function readResults(): Results {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Results) : {};
}

export function writeResults(results: Results): void {
  writeFileSync(FILE, `${JSON.stringify(results, null, 1)}\n`);
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
    return cells.find(({ contender }) => contender === 'petstore')?.figure?.median;
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

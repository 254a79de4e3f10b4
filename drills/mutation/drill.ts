import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { type Tests, testsFor } from './areas.ts';
import { chooseMutants, type Mutant } from './mutants.ts';
import { Sandbox } from './sandbox.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ARTIFACTS = join(ROOT, 'artifacts');
const FOUND_SHARE_MIN = 0.9;
const TEXT_LENGTH_MAX = 100;
/** Its result does not depend on any mutated file. */
const UNRELATED_TEST = 'src/cli/terminal.test.ts';

export const drill: Drill = {
  purpose:
    'Changes one place of src/domain, src/http or src/storage at a time, and runs the tests of its area: at least 90 % of the changes make a test fail.',
  unit: 'mutants',
  rounds: 400,
  quickRounds: 6,
  isNamedOnly: true,
  run: (options) => run(options, testsFor, writeLists),
  control: {
    brokenBy: 'a test that depends on none of the changed files',
    run: (options) =>
      run(
        options,
        () => ({ first: [UNRELATED_TEST], others: [] }),
        async () => undefined,
      ),
  },
};

// Stryker makes the mutants. It would run them too, but it selects a mutant by an environment variable, which
// the processes that the tests start do not receive, and it cannot choose 400 of 4,000. Here each mutant is
// written to a copy of the project.
async function run(
  { rounds, seed, onProgress }: DrillOptions,
  testsOf: (file: string) => Tests,
  onResults: (results: Results) => Promise<void>,
): Promise<DrillReport> {
  const mutants = await chooseMutants(ROOT, rounds, seed);
  const waitingTests = [...new Set(mutants.flatMap(({ file }) => allOf(testsOf(file))))];
  const waitingMutants = [...mutants];
  const results: Results = { found: [], notFound: [], refused: [], unchanged: [] };
  const work = async () => {
    await using sandbox = await Sandbox.open(ROOT);
    // A test that fails without a change would find every mutant.
    for (let next = waitingTests.pop(); next !== undefined; next = waitingTests.pop()) {
      onProgress(`without a change, ${waitingTests.length + 1} test files left`);
      const test = await sandbox.failingTest([next]);
      if (test !== undefined) results.unchanged.push(test);
    }
    for (let next = waitingMutants.pop(); next !== undefined; next = waitingMutants.pop()) {
      await tryMutant(sandbox, next, testsOf(next.file), results);
      // After each one: a run takes long, and may be ended early.
      await onResults(results);
      const tried = mutants.length - waitingMutants.length;
      onProgress(`${tried} of ${mutants.length} mutants, ${results.notFound.length} not found`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return toReport(results);
}

async function tryMutant(
  sandbox: Sandbox,
  mutant: Mutant,
  { first, others }: Tests,
  results: Results,
): Promise<void> {
  await using _ = await sandbox.change(mutant);
  const addFound = (test: string) => results.found.push(`${describe(mutant)}: found by "${test}"`);
  for (const file of first) {
    const test = await sandbox.failingTest([file]);
    if (test !== undefined) return void addFound(test);
  }
  if (await sandbox.isRefused()) return void results.refused.push(describe(mutant));
  const test = await sandbox.failingTest(others);
  if (test !== undefined) addFound(test);
  else results.notFound.push(describe(mutant));
}

function allOf({ first, others }: Tests): string[] {
  return [...first, ...others];
}

/** One line per mutant, or per test that failed without one. */
interface Results {
  found: string[];
  notFound: string[];
  refused: string[];
  unchanged: string[];
}

async function writeLists({ found, notFound }: Results): Promise<void> {
  await mkdir(ARTIFACTS, { recursive: true });
  await writeFile(join(ARTIFACTS, 'mutants-found.txt'), found.toSorted().join('\n'));
  await writeFile(join(ARTIFACTS, 'mutants-not-found.txt'), notFound.toSorted().join('\n'));
}

function toReport({ found, notFound, refused, unchanged }: Results): DrillReport {
  const share = found.length / (found.length + notFound.length);
  return {
    passed: found.length,
    violations: [
      ...unchanged.map((test) => `a test fails without a change: ${test}`),
      ...(share < FOUND_SHARE_MIN ? notFound : []),
    ],
    figures: {
      'found by a test (artifacts/mutants-found.txt)': found.length,
      'refused by the compiler': refused.length,
      'not found (artifacts/mutants-not-found.txt)': notFound.length,
      'share found by a test': `${(share * 100).toFixed(1)} %`,
    },
  };
}

function describe({ file, line, original, replacement }: Mutant): string {
  return `${file}:${line}: ${shorten(original)} → ${shorten(replacement)}`;
}

function shorten(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, TEXT_LENGTH_MAX);
}

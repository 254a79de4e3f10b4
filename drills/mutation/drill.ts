import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { testsFor } from './areas.ts';
import type { Coverage } from './coverage.ts';
import { chooseMutants, type Mutant } from './mutants.ts';
import { Sandbox } from './sandbox.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ARTIFACTS = join(ROOT, 'artifacts');
const FOUND_SHARE_MIN = 0.9;
const TEXT_LENGTH_MAX = 100;
/** More than processors: many tests wait. */
const SANDBOXES = availableParallelism() + 1;
/** The compiler, which runs between the fast and the slow tests, takes about as long. */
const FAST_MS_MAX = 8_000;
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
        () => [UNRELATED_TEST],
        async () => undefined,
      ),
  },
};

// Stryker makes the mutants. It would run them too, but it selects a mutant by an environment variable, which
// the processes that the tests start do not receive, and it cannot choose 400 of 4,000. Here each mutant is
// written to a copy of the project.
async function run(
  { rounds, seed, onProgress }: DrillOptions,
  testsOf: (file: string) => readonly string[],
  onResults: (results: Results) => Promise<void>,
): Promise<DrillReport> {
  const mutants = await chooseMutants(ROOT, rounds, seed);
  const files = [...new Set(mutants.flatMap(({ file }) => testsOf(file)))];
  const results: Results = { found: [], notFound: [], refused: [], unchanged: [] };
  const sandboxes = await Promise.all(Array.from({ length: SANDBOXES }, () => Sandbox.open(ROOT)));
  await using _ = { [Symbol.asyncDispose]: () => closeAll(sandboxes) };
  const tests: TestFile[] = [];
  await inParallel(sandboxes, files, async (sandbox, file) => {
    tests.push(await tryUnchanged(sandbox, file, results));
    onProgress(`${tests.length} of ${files.length} test files without a change`);
  });
  await inParallel(sandboxes, mutants, async (sandbox, mutant) => {
    const inArea = tests.filter(({ file }) => testsOf(mutant.file).includes(file));
    await tryMutant(sandbox, mutant, inArea, results);
    // After each one: a run takes long, and may be ended early.
    await onResults(results);
    const { found, refused, notFound } = results;
    const tried = found.length + refused.length + notFound.length;
    onProgress(`${tried} of ${mutants.length} mutants, ${notFound.length} not found`);
  });
  return toReport(results);
}

/** A file of tests, as it runs without a change. */
interface TestFile {
  file: string;
  tookMs: number;
  /** Undefined if it is not known: the tests then run for every mutant of their area. */
  coverage: Coverage | undefined;
}

async function inParallel<Item>(
  sandboxes: readonly Sandbox[],
  items: readonly Item[],
  work: (sandbox: Sandbox, item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    sandboxes.map(async (sandbox) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        await work(sandbox, next);
      }
    }),
  );
}

async function closeAll(sandboxes: readonly Sandbox[]): Promise<void> {
  for (const sandbox of sandboxes) await sandbox[Symbol.asyncDispose]();
}

/** A test that fails without a change would find every mutant. */
async function tryUnchanged(sandbox: Sandbox, file: string, results: Results): Promise<TestFile> {
  const startedMs = performance.now();
  const coverage = await sandbox.coverageOf(file);
  const tookMs = performance.now() - startedMs;
  // Writing the coverage makes a test slow, and may make it fail.
  const failing = coverage === undefined ? await sandbox.failingTest([file]) : undefined;
  if (failing !== undefined) results.unchanged.push(failing);
  return { file, tookMs, coverage };
}

/** Runs the tests that run the changed place: the fast ones one after the other, then the others together. */
async function tryMutant(
  sandbox: Sandbox,
  mutant: Mutant,
  tests: readonly TestFile[],
  results: Results,
): Promise<void> {
  await using _ = await sandbox.change(mutant);
  const reaching = tests.filter(({ coverage }) => coverage?.includes(mutant) ?? true);
  // The thread that writes to SQLite tells nothing of its coverage, so none may be known.
  const ordered = (reaching.length > 0 ? reaching : tests).toSorted((a, b) => a.tookMs - b.tookMs);
  const filesOf = (isWanted: (test: TestFile) => boolean) =>
    ordered.filter(isWanted).map(({ file }) => file);
  const fast = filesOf(({ tookMs }) => tookMs < FAST_MS_MAX);
  const slow = filesOf(({ tookMs }) => tookMs >= FAST_MS_MAX);
  const addFound = (test: string) => results.found.push(`${describe(mutant)}: found by "${test}"`);
  for (const file of fast) {
    const test = await sandbox.failingTest([file]);
    if (test !== undefined) return void addFound(test);
  }
  if (await sandbox.isRefused()) return void results.refused.push(describe(mutant));
  const test = slow.length === 0 ? undefined : await sandbox.failingTest(slow);
  if (test !== undefined) addFound(test);
  else results.notFound.push(describe(mutant));
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

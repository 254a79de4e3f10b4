import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
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

/** The tests of each part of the source: the first prefix that fits counts. */
const AREAS = Object.entries(
  JSON.parse(readFileSync(new URL('./areas.json', import.meta.url), 'utf8')) as Record<
    string,
    string[]
  >,
);

export const drill: Drill = {
  promise: 'The tests notice when the code changes: at least 90 % of the changes fail one.',
  method:
    'Stryker makes mutants of the service, its commands and pages, the client library and the conformance check; a seed chooses them. Each is written to a copy of the project and tried with the test files of its area, the fastest first; what the compiler refuses does not count. The tests must pass without a change. Stryker does not run them itself: its mutants are switched by an environment variable, which browsers do not have.',
  unit: 'mutants',
  rounds: 400,
  quickRounds: 6,
  isNamedOnly: true,
  run: (options) => run(options, testsFor),
  control: {
    brokenBy: 'a test that depends on none of the changed files',
    finds: ['no test finds '],
    run: (options) => run(options, () => [UNRELATED_TEST]),
  },
};

function testsFor(file: string): string[] {
  const [, globs = []] = AREAS.find(([prefix]) => file.startsWith(prefix)) ?? [];
  return globSync(globs, { cwd: ROOT });
}

/** One line per mutant, or per test that failed without one. */
interface Results {
  found: string[];
  notFound: string[];
  refused: string[];
  unchanged: string[];
}

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  testsOf: (file: string) => string[],
): Promise<DrillReport> {
  const mutants = await chooseMutants(ROOT, rounds, seed);
  const files = [...new Set(mutants.flatMap(({ file }) => testsOf(file)))];
  const results: Results = { found: [], notFound: [], refused: [], unchanged: [] };
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: SANDBOXES }, () => stack.use(new Sandbox(ROOT)));
  const tookMs = new Map<string, number>();
  await inParallel(sandboxes, files, async (sandbox, file) => {
    const startedMs = performance.now();
    // A test that fails without a change would find every mutant.
    const failing = await sandbox.failingTest(file);
    tookMs.set(file, performance.now() - startedMs);
    if (failing !== undefined) results.unchanged.push(`${file}: ${failing}`);
    onProgress(`${tookMs.size} of ${files.length} test files without a change`);
  });
  await inParallel(sandboxes, mutants, async (sandbox, mutant) => {
    // The test of the file itself comes first, then the others by the time that they take.
    const own = `/${basename(mutant.file, '.ts')}.test.ts`;
    const msOf = (file: string) => (file.endsWith(own) ? 0 : (tookMs.get(file) ?? 0));
    const tests = testsOf(mutant.file).toSorted((one, other) => msOf(one) - msOf(other));
    const isFast = (file: string) => msOf(file) < FAST_MS_MAX;
    const slow = tests.filter((file) => !isFast(file));
    await tryMutant(sandbox, mutant, [tests.filter(isFast), slow], results);
    // After each one: a run takes long, and may be ended early.
    writeLists(results);
    const tried = results.found.length + results.refused.length + results.notFound.length;
    onProgress(`${tried} of ${mutants.length} mutants, ${results.notFound.length} not found`);
  });
  return reportOf(results);
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

const shorten = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, TEXT_LENGTH_MAX);

async function tryMutant(
  sandbox: Sandbox,
  mutant: Mutant,
  [fast, slow]: [fast: readonly string[], slow: readonly string[]],
  results: Results,
): Promise<void> {
  using _ = sandbox.change(mutant);
  const { file, line, original, replacement } = mutant;
  const change = `${file}:${line}: ${shorten(original)} → ${shorten(replacement)}`;
  for (const tests of [fast, slow]) {
    for (const each of tests) {
      const test = await sandbox.failingTest(each);
      if (test !== undefined) return void results.found.push(`${change}: found by "${test}"`);
    }
    if (tests === fast && (await sandbox.isRefused())) return void results.refused.push(change);
  }
  results.notFound.push(change);
}

function writeLists({ found, notFound }: Results): void {
  mkdirSync(ARTIFACTS, { recursive: true });
  writeFileSync(join(ARTIFACTS, 'mutants-found.txt'), found.toSorted().join('\n'));
  writeFileSync(join(ARTIFACTS, 'mutants-not-found.txt'), notFound.toSorted().join('\n'));
}

function reportOf({ found, notFound, refused, unchanged }: Results): DrillReport {
  const share = found.length / (found.length + notFound.length);
  return {
    passed: found.length,
    violations: [
      ...unchanged.map((test) => `a test fails without a change: ${test}`),
      ...(share < FOUND_SHARE_MIN ? notFound.map((change) => `no test finds ${change}`) : []),
    ],
    figures: {
      'found by a test (artifacts/mutants-found.txt)': found.length,
      'refused by the compiler': refused.length,
      'not found (artifacts/mutants-not-found.txt)': notFound.length,
      'share found by a test': `${(share * 100).toFixed(1)} %`,
    },
  };
}

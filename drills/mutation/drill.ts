import { appendFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, devNull } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { chooseMutants, type Mutant } from './mutants.ts';
import { inParallel, Sandbox } from '../sandbox.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What came of each mutant. It is complete after each one: a run takes long, and may be ended early. */
const LIST = join(ROOT, 'artifacts', 'mutants.txt');
const FOUND_SHARE_MIN = 0.9;
const TEXT_LENGTH_MAX = 100;
/** More than processors: many tests wait. */
const SANDBOXES = 3 * availableParallelism();
/** Its result does not depend on any mutated file. */
const UNRELATED_TEST = 'src/cli/terminal.unit.test.ts';

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
    'Stryker makes mutants of the service, its commands and pages, the client library and the conformance check; a seed chooses them. Each is written to a copy of the project and tried with the test files of its area, the fastest first; what the compiler refuses does not count. The tests must pass without a change.',
  unit: 'mutants',
  rounds: 400,
  quickRounds: 6,
  isNamedOnly: true,
  run: (options) => run(options, testsFor, LIST),
  control: {
    brokenBy: 'a test that depends on none of the changed files',
    finds: ['no test finds '],
    run: (options) => run(options, () => [UNRELATED_TEST], devNull),
  },
};

function testsFor(file: string): string[] {
  const [, globs = []] = AREAS.find(([prefix]) => file.startsWith(prefix)) ?? [];
  return globSync(globs, { cwd: ROOT });
}

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  testsOf: (file: string) => string[],
  list: string,
): Promise<DrillReport> {
  const mutants = await chooseMutants(ROOT, rounds, seed);
  const files = [...new Set(mutants.flatMap(({ file }) => testsOf(file)))];
  const violations: string[] = [];
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: SANDBOXES }, () => stack.use(new Sandbox(ROOT)));
  const tookMs = new Map<string, number>();
  await inParallel(sandboxes, files, async (sandbox, file) => {
    const startedMs = performance.now();
    const failing = await sandbox.failingTest(file);
    tookMs.set(file, performance.now() - startedMs);
    if (failing !== undefined) violations.push(`without a change: ${file}: ${failing}`);
    onProgress(`${tookMs.size} of ${files.length} test files without a change`);
  });
  // A test that fails without a change would find every mutant.
  if (violations.length > 0) return { passed: 0, violations, figures: {} };
  const survivors: string[] = [];
  const counts = { found: 0, refused: 0, 'not found': 0 };
  mkdirSync(dirname(LIST), { recursive: true });
  writeFileSync(list, '');
  await inParallel(sandboxes, mutants, async (sandbox, mutant) => {
    // The test of the file itself comes first, then the others by the time that they take.
    const own = `/${basename(mutant.file, '.ts')}.test.ts`;
    const msOf = (file: string) => (file.endsWith(own) ? 0 : (tookMs.get(file) ?? 0));
    const tests = testsOf(mutant.file).toSorted((one, other) => msOf(one) - msOf(other));
    const { outcome, by } = await tryMutant(sandbox, mutant, tests);
    counts[outcome] += 1;
    appendFileSync(list, `${outcome}: ${describe(mutant)}: ${by}\n`);
    if (outcome === 'not found') survivors.push(describe(mutant));
    onProgress(`of ${mutants.length} mutants ${JSON.stringify(counts)}`);
  });
  const share = counts.found / (counts.found + counts['not found']);
  const isEnough = share >= FOUND_SHARE_MIN;
  return {
    passed: counts.found,
    violations: isEnough ? [] : survivors.map((mutant) => `no test finds ${mutant}`),
    figures: {
      'found by a test': counts.found,
      'refused by the compiler': counts.refused,
      'share found by a test': `${(share * 100).toFixed(1)} %`,
      'not found': `${survivors.length}${survivors.toSorted().map(listed).join('')}`,
    },
  };
}

async function tryMutant(
  sandbox: Sandbox,
  mutant: Mutant,
  tests: readonly string[],
): Promise<{ outcome: 'found' | 'refused' | 'not found'; by: string }> {
  using _ = sandbox.change(mutant);
  for (const file of tests) {
    const by = await sandbox.failingTest(file);
    if (by !== undefined) return { outcome: 'found', by };
  }
  return (await sandbox.isRefused())
    ? { outcome: 'refused', by: 'the compiler' }
    : { outcome: 'not found', by: `${tests.length} test files` };
}

function describe({ file, line, original, replacement }: Mutant): string {
  const [before, after] = [original, replacement].map((text) =>
    text.replaceAll(/\s+/g, ' ').slice(0, TEXT_LENGTH_MAX),
  );
  return `${file}:${line}: ${before} → ${after}`;
}

/** Markdown, also of a text with backticks. */
const listed = (mutant: string) => `\n  - \`\` ${mutant} \`\``;

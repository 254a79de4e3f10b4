import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { testsFor } from './areas.ts';
import { chooseMutants, type Mutant } from './mutants.ts';
import { Sandbox } from './sandbox.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
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
  run: (options) => run(options, testsFor),
  control: {
    brokenBy: 'a test that depends on none of the changed files',
    run: (options) => run(options, () => [UNRELATED_TEST]),
  },
};

// Stryker makes the mutants. It would run them too, but it selects a mutant by an environment variable, which
// the processes that the tests start do not receive, and it cannot choose 400 of 4,000. Here each mutant is
// written to a copy of the project.
async function run(
  { rounds, seed, onProgress }: DrillOptions,
  testsOf: (file: string) => readonly string[],
): Promise<DrillReport> {
  const list = join(ROOT, 'artifacts', 'mutants-not-found.txt');
  const mutants = await chooseMutants(ROOT, rounds, seed);
  const survivors: string[] = [];
  const waiting = [...mutants];
  let found = 0;
  let refused = 0;
  const work = async () => {
    await using sandbox = await Sandbox.open(ROOT);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (await sandbox.isFound(next, testsOf(next.file))) found += 1;
      else if (await sandbox.isRefused(next)) refused += 1;
      else {
        survivors.push(describe(next));
        // After each one: a run takes long, and may be ended early.
        await writeFile(list, survivors.toSorted().join('\n'));
      }
      const tried = found + refused + survivors.length;
      onProgress(`${tried} of ${mutants.length} mutants, ${survivors.length} not found`);
    }
  };
  await mkdir(join(ROOT, 'artifacts'), { recursive: true });
  await writeFile(list, '');
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  const share = found / (found + survivors.length);
  return {
    passed: found,
    violations: share < FOUND_SHARE_MIN ? survivors : [],
    figures: {
      'found by a test': found,
      'refused by the compiler': refused,
      'not found (artifacts/mutants-not-found.txt)': survivors.length,
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

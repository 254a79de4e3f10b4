import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installTools, toolsFolder } from '../../test/support/tools.ts';
import { newRandom } from '../random.ts';

/** One change of one place in the source. */
export interface Mutant {
  file: string;
  line: number;
  /** Where the place begins in the original file, in characters. */
  offset: number;
  /** The original text of the place, and what replaces it. */
  original: string;
  replacement: string;
  /** The whole file with the change. */
  content: string;
}

interface Position {
  line: number;
  column: number;
}

/** The part of Stryker's instrumenter that the drill uses. */
interface Instrumenter {
  instrument(
    files: { name: string; mutate: true; content: string }[],
    options: object,
  ): Promise<{
    mutants: {
      mutatorName: string;
      replacement: string;
      location: { start: Position; end: Position };
    }[];
  }>;
}

/** A changed message changes no behaviour that the specification states. */
const EXCLUDED_MUTATIONS = ['StringLiteral'];
const SILENT_LOG = {
  debug: () => undefined,
  info: () => undefined,
  isDebugEnabled: () => false,
};
const MUTATED = /^src\/(?:domain|http|storage)\/(?!.*\.(?:test|contract)\.ts$).*\.ts$/;

/** Chooses mutants of the sources at random, all with the same probability. */
export async function chooseMutants(root: string, count: number, seed: number): Promise<Mutant[]> {
  await installTools(import.meta.dirname);
  const instrumenter = await loadInstrumenter();
  const files = execFileSync('git', ['ls-files', 'src'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => MUTATED.test(file));
  const mutants: Mutant[] = [];
  for (const file of files) {
    const content = readFileSync(join(root, file), 'utf8');
    const { mutants: found } = await instrumenter.instrument(
      [{ name: file, mutate: true, content }],
      { plugins: [], excludedMutations: EXCLUDED_MUTATIONS, ignorers: [] },
    );
    const lineStarts = [0, ...content.matchAll(/\n/g).map(({ index }) => index + 1)];
    const offsetOf = ({ line, column }: Position) => (lineStarts[line] ?? 0) + column;
    for (const { replacement, location, mutatorName } of found) {
      if (EXCLUDED_MUTATIONS.includes(mutatorName)) continue;
      const [start, end] = [offsetOf(location.start), offsetOf(location.end)];
      mutants.push({
        file,
        line: location.start.line + 1,
        offset: start,
        original: content.slice(start, end),
        replacement,
        content: content.slice(0, start) + replacement + content.slice(end),
      });
    }
  }
  const random = newRandom(seed);
  const chosen: Mutant[] = [];
  while (chosen.length < count && mutants.length > 0) {
    chosen.push(...mutants.splice(random.integer(mutants.length), 1));
  }
  return chosen;
}

async function loadInstrumenter(): Promise<Instrumenter> {
  const entry = join(
    toolsFolder(import.meta.dirname),
    'node_modules/@stryker-mutator/instrumenter/dist/src/index.js',
  );
  const { Instrumenter: Loaded } = (await import(pathToFileURL(entry).href)) as {
    Instrumenter: new (log: object) => Instrumenter;
  };
  return new Loaded(SILENT_LOG);
}

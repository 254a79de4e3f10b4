import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installTools, toolsFolder } from '../../harness/tools.ts';
import { newRandom } from '../../harness/random.ts';

/** One change of one place in the source. */
export interface Mutant {
  file: string;
  line: number;
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

interface Found {
  mutatorName: string;
  replacement: string;
  location: { start: Position; end: Position };
}

/** The part of Stryker's instrumenter that the drill uses. */
interface Instrumenter {
  instrument(files: object[], options: object): Promise<{ mutants: Found[] }>;
}

/** The part of Stryker's configuration that the drill uses. */
interface Configuration {
  mutate: string[];
  mutator: { excludedMutations: string[] };
}

const ENTRY = 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js';
const nothing = () => undefined;
const SILENT_LOG = { debug: nothing, info: nothing, isDebugEnabled: () => false };

/** Chooses mutants of the sources at random, all with the same probability. */
export async function chooseMutants(root: string, count: number, seed: number): Promise<Mutant[]> {
  const folder = import.meta.dirname;
  await installTools(folder);
  const { href } = pathToFileURL(join(toolsFolder(folder), ENTRY));
  const stryker = (await import(href)) as { Instrumenter: new (log: object) => Instrumenter };
  const instrumenter = new stryker.Instrumenter(SILENT_LOG);
  const configuration = readFileSync(join(folder, 'stryker.config.json'), 'utf8');
  const { mutate, mutator } = JSON.parse(configuration) as Configuration;
  const isMutated = (file: string) =>
    mutate.every((glob) => !glob.startsWith('!') || !matchesGlob(file, glob.slice(1))) &&
    mutate.some((glob) => matchesGlob(file, glob));
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
  const mutants: Mutant[] = [];
  for (const file of files.filter(isMutated)) {
    const content = readFileSync(join(root, file), 'utf8');
    const options = { ...mutator, ignorers: [] };
    const source = [{ name: file, mutate: true, content }];
    const { mutants: found } = await instrumenter.instrument(source, options);
    const isIncluded = ({ mutatorName }: Found) => !mutator.excludedMutations.includes(mutatorName);
    mutants.push(...found.filter(isIncluded).map((each) => mutantOf(file, content, each)));
  }
  const random = newRandom(seed);
  const chosen: Mutant[] = [];
  while (chosen.length < count && mutants.length > 0) {
    chosen.push(...mutants.splice(random.integer(mutants.length), 1));
  }
  return chosen;
}

function mutantOf(file: string, content: string, { replacement, location }: Found): Mutant {
  const lineStarts = [0, ...content.matchAll(/\n/g).map(({ index }) => index + 1)];
  const offsetOf = ({ line, column }: Position) => (lineStarts[line] ?? 0) + column;
  const [start, end] = [offsetOf(location.start), offsetOf(location.end)];
  return {
    file,
    line: location.start.line + 1,
    original: content.slice(start, end),
    replacement,
    content: content.slice(0, start) + replacement + content.slice(end),
  };
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The part of V8's coverage that is used. The innermost range that contains a place says how often it ran. */
interface ScriptCoverage {
  url: string;
  functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[];
}

interface Place {
  file: string;
  offset: number;
}

/** Which places of the source one test file runs, by what Node.js writes with `NODE_V8_COVERAGE`. */
export class Coverage {
  readonly #scripts: ScriptCoverage[] = [];

  /** Reads what the processes of a test file have written: each writes one file when it ends. */
  static async read(folder: string): Promise<Coverage> {
    const coverage = new Coverage();
    for (const name of await readdir(folder)) {
      const text = await readFile(join(folder, name), 'utf8');
      const { result } = JSON.parse(text) as { result: ScriptCoverage[] };
      coverage.#scripts.push(...result.filter(({ url }) => url.includes('/src/')));
    }
    return coverage;
  }

  includes({ file, offset }: Place): boolean {
    return this.#scripts.some(
      ({ url, functions }) => url.endsWith(`/${file}`) && ran(functions, offset),
    );
  }
}

function ran(functions: ScriptCoverage['functions'], offset: number): boolean {
  const [innermost] = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    .toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
  return innermost !== undefined && innermost.count > 0;
}

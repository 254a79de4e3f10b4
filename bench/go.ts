import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const BUILD_TIMEOUT_MS = 600_000;

/** Builds the contender that is written in Go when it is needed first. A build that fails is not repeated. */
export class GoProgram {
  readonly #file: string;
  #built: Promise<string> | undefined;

  constructor(folder: string) {
    this.#file = join(folder, 'go-contender');
  }

  /** Returns the path of the program. */
  build(): Promise<string> {
    this.#built ??= build(this.#file);
    return this.#built;
  }
}

async function build(file: string): Promise<string> {
  try {
    const options = { cwd: join(import.meta.dirname, 'contenders/go'), timeout: BUILD_TIMEOUT_MS };
    await promisify(execFile)('go', ['build', '-o', file, '.'], options);
    return file;
  } catch (error) {
    const { code, stderr = '', message } = error as Error & { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw new Error('Go is not installed', { cause: error });
    const lastLine = stderr.trim().split('\n').at(-1) ?? message;
    throw new Error(`go build failed: ${lastLine}`, { cause: error });
  }
}

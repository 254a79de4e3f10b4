import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const POCKETBASE = 'github.com/pocketbase/pocketbase/examples/base@v0.40.4';
const BUILD_TIMEOUT_MS = 600_000;

/** Builds the contenders that are written in Go, each when it is needed first. A build that fails is not repeated. */
export class GoPrograms {
  readonly #folder: string;
  readonly #built = new Map<string, Promise<string>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the path of the program in contenders/go. */
  contender(): Promise<string> {
    return this.#once('go-contender', async (file) => {
      await go(['build', '-o', file, '.'], { cwd: join(import.meta.dirname, 'contenders/go') });
    });
  }

  /** Returns the path of PocketBase. Its module may need a newer Go, which the command then downloads. */
  pocketBase(): Promise<string> {
    return this.#once('base', async () => {
      await go(['install', POCKETBASE], { env: { GOBIN: this.#folder, GOTOOLCHAIN: 'auto' } });
    });
  }

  #once(name: string, build: (file: string) => Promise<void>): Promise<string> {
    const file = join(this.#folder, name);
    const built = this.#built.get(name) ?? build(file).then(() => file);
    this.#built.set(name, built);
    return built;
  }
}

async function go(args: string[], { cwd, env }: { cwd?: string; env?: Record<string, string> }) {
  try {
    const options = { cwd, env: { ...process.env, ...env }, timeout: BUILD_TIMEOUT_MS };
    await promisify(execFile)('go', args, options);
  } catch (error) {
    const { code, stderr = '', message } = error as Error & { code?: unknown; stderr?: string };
    if (code === 'ENOENT') throw new Error('Go is not installed', { cause: error });
    const lastLine = stderr.trim().split('\n').at(-1) ?? message;
    throw new Error(`go ${args[0]} failed: ${lastLine}`, { cause: error });
  }
}

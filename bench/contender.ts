import { spawn, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../harness/free-port.ts';
import { pinned } from './cores.ts';
import type { Load } from './generator.ts';
import { endWithBench, familyOf, memoryMib, processorMicroseconds } from './processes.ts';

const READY_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 2;
const STOP_GRACE_MS = 10_000;

export type Operation = 'list' | 'cursor' | 'get' | 'create';

/** How a contender is started, and its requests for each operation. */
export interface Recipe {
  name: string;
  command: (port: number) => string[];
  load: (operation: Operation) => Load;
  /** The file for its standard output. Without one it is discarded. */
  stdout?: string;
  /** The process of its database. */
  databasePid?: number;
  environment?: Record<string, string>;
}

export interface StartOptions {
  key: string;
  cores: string | undefined;
}

/** One running server. */
export class Contender {
  readonly recipe: Recipe;
  readonly url: string;
  /** From the start of the process to its first response. */
  readonly startMs: number;
  readonly #child: ChildProcess;

  private constructor(recipe: Recipe, url: string, startMs: number, child: ChildProcess) {
    this.recipe = recipe;
    this.url = url;
    this.startMs = startMs;
    this.#child = child;
  }

  static async start(recipe: Recipe, options: StartOptions): Promise<Contender> {
    const { key, cores } = options;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const [program = '', ...args] = pinned(recipe.command(port), cores);
    const startedMs = performance.now();
    const child = spawn(program, args, {
      stdio: [
        'pipe',
        recipe.stdout === undefined ? 'ignore' : openSync(recipe.stdout, 'w'),
        'pipe',
      ],
      env: { ...process.env, PETSTORE_BOOTSTRAP_KEY: key, ...recipe.environment },
    });
    endWithBench(child);
    let stderrTail = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderrTail = (stderrTail + chunk.toString()).slice(-2_000);
    });
    const { headers = {}, paths } = recipe.load('list');
    while (!(await isReady(`${url}${paths[0]}`, { headers }))) {
      if (child.exitCode !== null || performance.now() - startedMs > READY_TIMEOUT_MS) {
        child.kill('SIGKILL');
        throw new Error(`${recipe.name} did not start: ${stderrTail}`);
      }
      await sleep(POLL_INTERVAL_MS);
    }
    const startMs = performance.now() - startedMs;
    return new Contender(recipe, url, startMs, child);
  }

  get name(): string {
    return this.recipe.name;
  }

  /** Undefined on systems without /proc. */
  memoryMib() {
    return memoryMib(this.#child.pid);
  }

  /**
   * Returns a function that reads how much processor time its present processes and those of its database have used,
   * in microseconds; NaN on systems without /proc.
   */
  processorClock(): () => { total: number; database: number } {
    const { databasePid } = this.recipe;
    const own = familyOf(this.#child.pid);
    const databases = databasePid === undefined ? [] : familyOf(databasePid);
    return () => {
      const database = databases.length === 0 ? 0 : processorMicroseconds(databases);
      return { total: processorMicroseconds(own) + database, database };
    };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => {
      this.#child.once('exit', resolve);
    });
    this.#child.kill('SIGTERM');
    const killTimer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_GRACE_MS);
    await ended;
    clearTimeout(killTimer);
  }
}

async function isReady(url: string, request: RequestInit): Promise<boolean> {
  try {
    const response = await fetch(url, request);
    await response.arrayBuffer();
    return response.status < 400;
  } catch {
    return false;
  }
}

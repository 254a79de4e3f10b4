import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pinned } from './cores.ts';

const READY_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 2;
/** The unit of times in /proc/…/stat on current Linux systems. */
const CLOCK_TICK_MS = 10;
const STOP_GRACE_MS = 10_000;

/** How a contender is started. */
export interface Recipe {
  name: string;
  command: (port: number) => string[];
  /** The file for its standard output. Without one it is discarded. */
  stdout?: string;
  /** This path is requested until the response is a success. */
  probe: string;
}

export interface StartOptions {
  key: string;
  cores: string | undefined;
  environment?: Record<string, string> | undefined;
}

/** One running server. */
export class Contender {
  readonly name: string;
  readonly url: string;
  /** From the start of the process to its first response. */
  readonly startMs: number;
  readonly #child: ChildProcess;

  private constructor(parts: { name: string; url: string; startMs: number; child: ChildProcess }) {
    this.name = parts.name;
    this.url = parts.url;
    this.startMs = parts.startMs;
    this.#child = parts.child;
  }

  static async start(
    recipe: Recipe,
    { key, cores, environment }: StartOptions,
  ): Promise<Contender> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const [program = '', ...args] = pinned(recipe.command(port), cores);
    const startedMs = performance.now();
    const child = spawn(program, args, {
      stdio: [
        'pipe',
        recipe.stdout === undefined ? 'ignore' : openSync(recipe.stdout, 'a'),
        'pipe',
      ],
      env: { ...process.env, PETSTORE_BOOTSTRAP_KEY: key, ...environment },
    });
    let stderrTail = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderrTail = (stderrTail + chunk.toString()).slice(-2_000);
    });
    const request = { headers: { authorization: `Bearer ${key}` } };
    while (!(await isReady(`${url}${recipe.probe}`, request))) {
      if (child.exitCode !== null || performance.now() - startedMs > READY_TIMEOUT_MS) {
        child.kill('SIGKILL');
        throw new Error(`${recipe.name} did not start: ${stderrTail}`);
      }
      await pause(POLL_INTERVAL_MS);
    }
    const startMs = performance.now() - startedMs;
    return new Contender({ name: recipe.name, url, startMs, child });
  }

  /** Its highest memory use so far, in mebibytes; undefined on systems without /proc. */
  peakMemoryMib(): number | undefined {
    return peakMemoryMib(this.#child.pid);
  }

  /** The processor time it has used so far; undefined on systems without /proc. */
  processorMs(): number | undefined {
    try {
      const status = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8');
      // The name is in brackets and may contain anything. User and system time are fields 12 and 13 after it.
      const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
    } catch {
      return undefined;
    }
  }

  /** The number of its processes, itself included; 1 on systems without /proc. */
  processCount(): number {
    try {
      const { pid } = this.#child;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      return 1 + (children === '' ? 0 : children.split(' ').length);
    } catch {
      return 1;
    }
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

export function peakMemoryMib(pid: number | undefined): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kibibytes = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024;
  } catch {
    return undefined;
  }
}

async function isReady(url: string, request: RequestInit): Promise<boolean> {
  try {
    const response = await fetch(url, request);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export function scriptPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

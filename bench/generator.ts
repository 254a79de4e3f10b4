import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinned } from './cores.ts';
import { endWithBench } from './processes.ts';

/** The requests to send: the paths in order, again from the first after the last. */
export interface Load {
  method: 'GET' | 'POST';
  paths: readonly string[];
  headers?: Record<string, string>;
  body?: string;
}

export interface LoadResult {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  requests: number;
}

export interface LoadOptions {
  seconds: number;
  connections?: number;
}

export const CONNECTIONS = 32;
/** Longer than a slice of each contender. */
const TIMEOUT_SECONDS = 30;
/** If the bench ends without stopping it. */
const SLICED_SECONDS_MAX = 300;
const STOP_INTERVAL_MS = 20;

/** Sends load with wrk if it is installed, otherwise with autocannon. */
export class Generator {
  readonly name: string;
  readonly #hasWrk: boolean;
  readonly #folder: string;
  readonly #cores: string | undefined;
  #filesWritten = 0;

  constructor(options: { folder: string; cores: string | undefined }) {
    const version = spawnSync('wrk', ['--version'], { encoding: 'utf8' });
    this.#hasWrk = version.error === undefined;
    this.name = this.#hasWrk ? (/wrk \S+/.exec(version.stdout)?.[0] ?? 'wrk') : 'autocannon';
    this.#folder = options.folder;
    this.#cores = options.cores;
  }

  /** Whether `start` works here: it needs wrk, pinned processes, and the counters of Linux. */
  get canSlice(): boolean {
    const counters = ['/proc/self/io', '/proc/self/schedstat'];
    return this.#hasWrk && this.#cores !== undefined && counters.every((file) => existsSync(file));
  }

  async run(baseUrl: string, load: Load, options: LoadOptions): Promise<LoadResult> {
    const content = this.#contentOf(load);
    const { seconds, connections = CONNECTIONS } = options;
    const command = this.#hasWrk
      ? wrk(baseUrl, content, { seconds, connections })
      : [process.execPath, join(import.meta.dirname, 'autocannon-load.ts'), baseUrl].concat(
          String(seconds),
          String(connections),
          content,
        );
    return parseResult(await spawnPinned(command, this.#cores).output);
  }

  /** Sends load until it is stopped. */
  start(baseUrl: string, load: Load): SlicedLoad {
    const options = { seconds: SLICED_SECONDS_MAX, connections: CONNECTIONS };
    const command = wrk(baseUrl, this.#contentOf(load), options);
    return new SlicedLoad(spawnPinned(command, this.#cores));
  }

  /** The arguments of load.lua. */
  #contentOf({ method, paths, headers = {}, body = '' }: Load): string[] {
    this.#filesWritten += 1;
    const pathsFile = join(this.#folder, `paths-${this.#filesWritten}.txt`);
    writeFileSync(pathsFile, paths.map((path) => `${path}\n`).join(''));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return [method, pathsFile, body, ...lines];
  }
}

function wrk(baseUrl: string, content: readonly string[], options: Required<LoadOptions>) {
  const { seconds, connections } = options;
  const limits = ['-t1', `-c${connections}`, `-d${seconds}s`, `--timeout=${TIMEOUT_SECONDS}s`];
  const script = join(import.meta.dirname, 'load.lua');
  return ['wrk', ...limits, '-s', script, baseUrl, '--', ...content];
}

/** A running wrk that can be paused. */
export class SlicedLoad {
  readonly #child: ChildProcess;
  readonly #output: Promise<string>;

  constructor({ child, output }: Spawned) {
    this.#child = child;
    this.#output = output;
  }

  /** The requests so far: wrk sends each with one write, and writes nothing else while it runs. */
  sent(): number {
    const counters = readFileSync(`/proc/${this.#child.pid}/io`, 'utf8');
    return Number(/^syscw: (\d+)$/m.exec(counters)?.[1]);
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Throws if a request failed. */
  async stop(): Promise<void> {
    this.resume();
    // Only a signal that reaches the main thread of wrk ends it, and the system chooses the thread.
    const repeat = setInterval(() => this.#child.kill('SIGINT'), STOP_INTERVAL_MS);
    try {
      parseResult(await this.#output);
    } finally {
      clearInterval(repeat);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#output;
  }
}

/** Parses the line that load.lua and autocannon-load.ts print. Throws if a request failed. */
export function parseResult(output: string): LoadResult {
  const line = /^RESULT (\{.*\})$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`the generator printed no result: ${output}`);
  const { requests, seconds, p50Ms, p99Ms, failed } = JSON.parse(line) as Record<string, number>;
  if (failed !== 0) throw new Error(`${failed} of ${requests} requests failed`);
  if (requests === undefined || seconds === undefined || !(requests > 0) || !(seconds > 0)) {
    throw new Error('no request got a response');
  }
  return { requestsPerSecond: requests / seconds, p50Ms: p50Ms ?? 0, p99Ms: p99Ms ?? 0, requests };
}

interface Spawned {
  child: ChildProcess;
  output: Promise<string>;
}

function spawnPinned(command: readonly string[], cores: string | undefined): Spawned {
  const [program = '', ...args] = pinned(command, cores);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  endWithBench(child);
  const output = new Promise<string>((resolve, reject) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
    }
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });
  return { child, output };
}

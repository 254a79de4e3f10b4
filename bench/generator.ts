import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinned } from './cores.ts';

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
const TIMEOUT_SECONDS = 10;

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

  async run(baseUrl: string, load: Load, options: LoadOptions): Promise<LoadResult> {
    const { seconds, connections = CONNECTIONS } = options;
    this.#filesWritten += 1;
    const pathsFile = join(this.#folder, `paths-${this.#filesWritten}.txt`);
    writeFileSync(pathsFile, load.paths.map((path) => `${path}\n`).join(''));
    const headers = Object.entries(load.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const content = [load.method, pathsFile, load.body ?? '', ...headers];
    const command = this.#hasWrk
      ? [
          'wrk',
          '-t1',
          `-c${connections}`,
          `-d${seconds}s`,
          `--timeout=${TIMEOUT_SECONDS}s`,
          '-s',
        ].concat(join(import.meta.dirname, 'load.lua'), baseUrl, '--', content)
      : [process.execPath, join(import.meta.dirname, 'autocannon-load.ts'), baseUrl].concat(
          String(seconds),
          String(connections),
          content,
        );
    return parseResult(await outputOf(pinned(command, this.#cores)));
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

function outputOf([program = '', ...args]: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

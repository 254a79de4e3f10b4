import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A command that takes longer is killed, and its exit code is then null. */
const RUN_MS_MAX = 60_000;
export const MAIN = fileURLToPath(new URL('../bin/petstore.js', import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** The program and its first arguments; by default the command of this repository. */
  command?: readonly [program: string, ...args: string[]];
  env?: Record<string, string>;
  cwd?: string;
  /** An open file for standard output. `Finished` then has none. */
  stdout?: number;
}

function start(args: readonly string[], options: RunOptions): ChildProcess {
  const { command = [process.execPath, MAIN], env = {}, cwd, stdout } = options;
  const [program, ...first] = command;
  return spawn(program, [...first, ...args], {
    cwd,
    env: { ...inherited(), ...env },
    stdio: ['ignore', stdout ?? 'pipe', 'pipe'],
  });
}

/** The process under test must not inherit other settings of this one. The second tells it to write its coverage. */
function inherited(): Record<string, string> {
  const { PATH = '', NODE_V8_COVERAGE } = process.env;
  return { PATH, ...(NODE_V8_COVERAGE !== undefined && { NODE_V8_COVERAGE }) };
}

/** Runs a command and waits for its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = start(args, options);
  const overdue = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX);
  const finished: Finished = { code: null, stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (finished.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (finished.stderr += chunk.toString()));
  [finished.code] = (await once(child, 'close')) as [number | null];
  clearTimeout(overdue);
  return finished;
}

export interface Running {
  pid: number;
  baseUrl: string;
  /** The key that was printed, or '' if none was. */
  key: string;
  stderr: () => string;
  /** Stops reading standard error, so that the pipe fills up. */
  stopReading: () => void;
  kill: (signal: NodeJS.Signals) => void;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
}

/** Runs `petstore serve` and waits until it has started. It is killed at the end of the test. */
export async function serve(
  t: TestContext,
  flags: readonly string[],
  options: RunOptions = {},
): Promise<Running> {
  const child = start(['serve', '--port', '0', '--admin-port', 'off', ...flags], options);
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  const ended = once(child, 'exit').then(
    ([code, signal]: (number | NodeJS.Signals | null)[]) => code ?? signal ?? -1,
  );
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
      if (/"msg":"started"/.test(stderr)) resolve();
    });
    void ended.then(() => reject(new Error(`the service ended before it was ready: ${stderr}`)));
  });
  return {
    pid: child.pid ?? 0,
    baseUrl: /ready at (\S+)/.exec(stderr)?.[1] ?? '',
    key: /pet_(?:live|test)_\w{36}/.exec(stderr)?.[0] ?? '',
    stderr: () => stderr,
    stopReading: () => child.stderr?.pause(),
    kill: (signal) => child.kill(signal),
    ended,
  };
}

/** Creates a folder that is removed at the end of the test. */
export function temporaryFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

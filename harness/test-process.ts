import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../src/cli/commands.ts';
import { executeOrExplain } from '../src/cli/run.ts';

/** A command that takes longer is killed, and its exit code is then null. */
const RUN_MS_MAX = 60_000;
export const MAIN = fileURLToPath(new URL('../bin/petstore.js', import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The one line in which a command was refused. That of the service is JSON, and becomes what others print. */
export function refusalIn(stderr: string): string {
  if (!stderr.startsWith('{')) return stderr;
  const { level, time, msg } = JSON.parse(stderr) as Record<string, unknown>;
  assert.deepEqual([level, typeof time, typeof msg], ['fatal', 'string', 'string']);
  return `petstore: ${String(msg)}\n`;
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

/**
 * Runs a command in this process, and waits for its end. A process of its own takes far longer, and is needed only
 * where it is what is tested.
 */
export async function runHere(
  args: readonly string[],
  { env = {} }: Pick<RunOptions, 'env'> = {},
): Promise<Finished> {
  const finished: Finished = { code: null, stdout: '', stderr: '' };
  const stdout = { write: (text: string) => (finished.stdout += text) };
  const stderr = { write: (text: string) => (finished.stderr += text) };
  finished.code = await executeOrExplain(COMMANDS, args, { env, stdout, stderr });
  return finished;
}

export interface Running {
  pid: number;
  baseUrl: string;
  /** The address of the admin port, or '' if it is off. */
  adminUrl: string;
  /** The key that was printed on standard output, or '' if none was. */
  key: string;
  /** The fields of the line of the start. */
  started: Record<string, unknown>;
  stdout: () => string;
  stderr: () => string;
  /** Stops reading standard error and standard output, so that the pipes fill up. */
  stopReading: () => void;
  resumeReading: () => void;
  kill: (signal: NodeJS.Signals) => void;
  /** The exit code, or the signal that ended it, when all that it wrote was read. */
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
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const ended = once(child, 'close').then(
    ([code, signal]: (number | NodeJS.Signals | null)[]) => code ?? signal ?? -1,
  );
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
      if (/"msg":"started"/.test(stderr)) resolve();
    });
    void ended.then(() => reject(new Error(`the service ended before it was ready: ${stderr}`)));
  });
  const line = stderr.split('\n').find((each) => each.includes('"msg":"started"')) ?? '';
  const started = JSON.parse(line) as Record<string, unknown>;
  // The line names the command for a key where none is printed. The key is on another stream, which may be later.
  while (started['createKey'] === undefined && !stdout.includes('\n')) {
    await once(child.stdout ?? child, 'data');
  }
  return {
    pid: child.pid ?? 0,
    baseUrl: String(started['baseUrl']),
    adminUrl: /^(http\S+)\/metrics$/.exec(String(started['metrics']))?.[1] ?? '',
    key: /^pet_(?:live|test)_\w{36}$/m.exec(stdout)?.[0] ?? '',
    started,
    stdout: () => stdout,
    stderr: () => stderr,
    stopReading: () => {
      child.stderr?.pause();
      child.stdout?.pause();
    },
    resumeReading: () => {
      child.stderr?.resume();
      child.stdout?.resume();
    },
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

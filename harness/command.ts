import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { COMMANDS } from '../src/cli/commands.ts';
import { executeOrExplain } from '../src/cli/run.ts';

/** A command that takes longer is killed, and its exit code is then null. */
const RUN_MS_MAX = 60_000;
/** The flags of `npm start`. Without them, `serve` starts twice. */
export const NODE_FLAGS = manifest.scripts.start.match(/--\S+/g) ?? [];
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
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** An open file for standard output. `Finished` then has none. */
  stdout?: number;
}

/** The URL of a database is in DATABASE_URL instead of a flag, where a password is refused. */
export function withVariable(args: readonly string[]) {
  const index = args.findIndex((word) => /^postgres.*:.*@/.test(word));
  if (index === -1) return { words: [...args], variable: {} };
  return {
    words: args.toSpliced(index - 1, 2),
    variable: { DATABASE_URL: args[index] ?? '' },
  };
}

/** Starts a command. It inherits only the search path and where to write its coverage, no setting. */
export function start(args: readonly string[], options: RunOptions): ChildProcess {
  const { PATH = '', NODE_V8_COVERAGE } = process.env;
  const { command = [process.execPath, ...NODE_FLAGS, MAIN], env = {}, cwd, stdout } = options;
  const [program, ...first] = command;
  const { words, variable } = withVariable(args);
  return spawn(program, [...first, ...words], {
    cwd,
    env: { PATH, ...(NODE_V8_COVERAGE !== undefined && { NODE_V8_COVERAGE }), ...variable, ...env },
    stdio: ['ignore', stdout ?? 'pipe', 'pipe'],
  });
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
  const { words, variable } = withVariable(args);
  const io = { env: { ...variable, ...env }, stdout, stderr };
  finished.code = await executeOrExplain(COMMANDS, words, io);
  return finished;
}

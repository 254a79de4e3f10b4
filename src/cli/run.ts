import { processVariables } from '../config.ts';
import type { Io, Registry } from './command.ts';
import { execute } from './execute.ts';
import { failureOf } from './failure.ts';

/** Unread lines of a log would keep the process alive: after this time they are discarded. */
const UNREAD_MS_MAX = 300;

/** Runs the named command as the program of this process. Returns the exit code. */
export async function runCommand(registry: Registry, args: readonly string[]): Promise<number> {
  const { stdout, stderr } = process;
  const isService = args[0] === 'serve';
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The service continues without a reader of its log.
    if (isService) return;
    // The reader, such as head, has closed the pipe.
    if (error.code === 'EPIPE') process.exit(0);
    stderr.write(`petstore: standard output cannot be written (${error.message}).\n`);
    process.exit(1);
  });
  stderr.on('error', () => undefined);
  try {
    return await executeOrExplain(registry, args, { env: processVariables, stdout, stderr });
  } finally {
    // Standard output of a command is its result, which must be read to the end.
    const exit = () => {
      const isResultUnread = !isService && stdout.writableLength > 0;
      const isUnread = stderr.writableLength > 0 || stdout.writableLength > 0;
      if (isUnread && !isResultUnread) process.exit();
    };
    setInterval(exit, UNREAD_MS_MAX).unref();
  }
}

/** Runs the named command with these variables and streams, and prints why it failed, in one line. */
export async function executeOrExplain(
  registry: Registry,
  args: readonly string[],
  io: Io,
): Promise<number> {
  try {
    return await execute(registry, args, io);
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    const { exitCode } = failure;
    const { printable } = await import('../domain/printable.ts');
    const line = printable(failure.line.replaceAll('\n', ' '));
    // The messages of commands are for people, those of the service for programs.
    if (args[0] === 'serve' && io.stderr.isTTY !== true) {
      const { openLog } = await import('../ops/log.ts');
      openLog('fatal', io.stderr).fatal({ exitCode }, line);
    } else {
      io.stderr.write(`petstore: ${line}\n`);
    }
    return exitCode;
  }
}

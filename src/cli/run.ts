import { processVariables } from '../config.ts';
import type { Registry } from './command.ts';
import { execute } from './execute.ts';
import { failureOf } from './failure.ts';

/** Unread output in standard error would keep the process alive: after this time it is discarded. */
const UNREAD_MS_MAX = 300;

/** Runs the named command, and turns wrong usage and failures into one line and an exit code. */
export async function runCommand(registry: Registry, args: readonly string[]): Promise<number> {
  const { stdout, stderr } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader, such as head, has closed the pipe.
    if (error.code === 'EPIPE') process.exit(0);
    stderr.write(`petstore: standard output cannot be written (${error.message}).\n`);
    process.exit(1);
  });
  // If the reader of the log is gone, the service still continues.
  stderr.on('error', () => undefined);
  try {
    return await execute(registry, args, { env: processVariables, stdout, stderr });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    const { printable } = await import('./terminal.ts');
    stderr.write(`petstore: ${printable(failure.line.replaceAll('\n', ' '))}\n`);
    return failure.exitCode;
  } finally {
    const exit = () => {
      if (stderr.writableLength > 0 && stdout.writableLength === 0) process.exit();
    };
    setInterval(exit, UNREAD_MS_MAX).unref();
  }
}

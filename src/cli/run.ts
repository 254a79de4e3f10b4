import manifest from '../../package.json' with { type: 'json' };
import { processVariables, UsageError } from '../config.ts';
import type { Command } from './command.ts';
import { failureOf } from './failure.ts';
import { help } from './help.ts';

/** Unread output in standard error would keep the process alive: after this time it is discarded. */
const UNREAD_MS_MAX = 300;

/** Runs the named command, and turns wrong usage and failures into one line and an exit code. */
export async function runCommand(
  commands: Record<string, () => Promise<Command>>,
  [name, ...args]: string[],
): Promise<number> {
  const { stdout, stderr } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader, such as head, has closed the pipe.
    if (error.code === 'EPIPE') process.exit(0);
    stderr.write(`petstore: standard output cannot be written (${error.message}).\n`);
    process.exit(1);
  });
  // If the reader of the log is gone, the service still continues.
  stderr.on('error', () => undefined);
  if (name === '--version' || name === 'version') {
    stdout.write(`${manifest.version}\n`);
    return 0;
  }
  if (name === '--help' || name === '-h' || name === 'help') {
    stdout.write(help());
    return 0;
  }
  const load = name === undefined || !Object.hasOwn(commands, name) ? undefined : commands[name];
  try {
    if (load === undefined) {
      const known = Object.keys(commands).join(', ');
      throw new UsageError(
        `${name === undefined ? 'no command was given' : `there is no command "${name}"`}: the commands are ${known}; see petstore --help.`,
      );
    }
    const command = await load();
    return await command(args, { env: processVariables, stdout, stderr });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    stderr.write(`petstore: ${failure.line.replaceAll('\n', ' ')}\n`);
    return failure.exitCode;
  } finally {
    const exit = () => {
      if (stderr.writableLength > 0 && stdout.writableLength === 0) process.exit();
    };
    setInterval(exit, UNREAD_MS_MAX).unref();
  }
}

import manifest from '../../package.json' with { type: 'json' };
import { processVariables, UsageError } from '../config.ts';
import type { Command } from './command.ts';
import { failureOf } from './failure.ts';
import { help } from './help.ts';

/** What nobody reads from standard error would keep the process alive: it is given up after this long. */
const UNREAD_MS_MAX = 300;

/** Finds the command, and turns wrong use and failures into one line and an exit code. */
export async function runCommand(
  commands: Record<string, () => Promise<Command>>,
  [name, ...args]: string[],
): Promise<number> {
  const { stdout, stderr } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader, such as head, has seen enough.
    if (error.code === 'EPIPE') process.exit(0);
    stderr.write(`petstore: standard output cannot be written (${error.message}).\n`);
    process.exit(1);
  });
  // Whoever read the log has gone: that is no reason for a service to end.
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

import type { Command, CommandGroup, Io, Parsed, Registry } from './command.ts';

const HELP_FLAGS = ['--help', '-h'];
const VERSION_WORDS = ['--version', '-v', '-V', 'version'];

/**
 * Runs the command that the arguments name and returns its exit code. The parser is loaded only for
 * arguments that need it, so that it does not slow down the start of the service.
 */
export async function execute(
  registry: Registry,
  args: readonly string[],
  io: Io,
): Promise<number> {
  // `help keys create` is `keys create --help`.
  const words = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  const [name = '', ...rest] = words;
  if (words.length === 0 || HELP_FLAGS.includes(name)) {
    return showHelp([], await loadAll(registry), io);
  }
  if (VERSION_WORDS.includes(name)) return showVersion(io);
  const load = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (load !== undefined) return executeFound([name], await load(), rest, io);
  const { unknownCommand } = await import('./parser.ts');
  throw unknownCommand([], { commands: registry }, name, io);
}

async function executeFound(
  path: readonly string[],
  found: Command | CommandGroup,
  args: readonly string[],
  io: Io,
): Promise<number> {
  if (!('commands' in found)) {
    const plain = parsePlainly(found, args);
    const parsed = plain ?? (await import('./parser.ts')).parse(path, found, args, io);
    return parsed === undefined ? showHelp(path, found, io) : found.run(parsed, io);
  }
  const [verb = '', ...rest] = args;
  if (HELP_FLAGS.includes(verb)) return showHelp(path, found, io);
  const member = Object.hasOwn(found.commands, verb) ? found.commands[verb] : undefined;
  if (member !== undefined) return executeFound([...path, verb], member, rest, io);
  const { unknownCommand } = await import('./parser.ts');
  throw unknownCommand(path, found, verb, io);
}

/** Reads arguments that are only `--name value`, as most starts of the service have them. */
function parsePlainly(command: Command, args: readonly string[]): Parsed | undefined {
  if (command.arguments.length > 0) return undefined;
  const flags: Record<string, string> = {};
  for (let index = 0; index < args.length; index += 2) {
    const [flag = '', value] = args.slice(index, index + 2);
    const name = flag.slice('--'.length);
    if (flag !== `--${name}` || !Object.hasOwn(command.options, name) || value === undefined) {
      return undefined;
    }
    flags[name] = value;
  }
  return { arguments: [], flags, switches: new Set() };
}

/** All commands, for the help. */
export async function loadAll(registry: Registry): Promise<CommandGroup> {
  const loaded = Object.entries(registry).map(
    async ([name, load]) => [name, await load()] as const,
  );
  return {
    purpose: "Keeps a store's catalogue of animals",
    commands: Object.fromEntries(await Promise.all(loaded)),
  };
}

async function showHelp(
  path: readonly string[],
  found: Command | CommandGroup,
  io: Io,
): Promise<number> {
  const { helpOf } = await import('./parser.ts');
  io.stdout.write(helpOf(path, found, io));
  return 0;
}

async function showVersion(io: Io): Promise<number> {
  const { versions } = await import('./versions.ts');
  io.stdout.write(versions());
  return 0;
}

// The commands as a program of commander. Only this file uses it.

import { Command as Parser, CommanderError } from 'commander';
import { VERSION } from '../ops/installation.ts';
import { UsageError, type Setting } from '../setting.ts';
import type { Command, CommandGroup, Io, Parsed, Registry } from './command.ts';
import { programName } from './program-name.ts';

/** What a report of a problem should name. */
const VERSIONS = `petstore ${VERSION}\nNode.js ${process.versions.node}\nSQLite ${process.versions.sqlite}`;
const HELP_WIDTH_MAX = 100;
const EXIT_CODES = 'Exit codes: 0 success, 1 failure, 2 wrong use or settings.';

/** Runs the command that the arguments name and returns its exit code. Only that command is loaded. */
export async function execute(
  registry: Registry,
  words: readonly string[],
  io: Io,
): Promise<number> {
  refusePasswords(words);
  const [name = ''] = words;
  const load = Object.hasOwn(registry, name) ? registry[name] : undefined;
  const all = load === undefined ? await loadAll(registry) : groupOf({ [name]: await load() });
  let exitCode = 0;
  const program = newProgram(io);
  define(program, all, async (command, parsed) => {
    exitCode = await command.run(parsed, io);
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** What a colon separates from an @, also behind a user and no scheme, but not a drive and a folder of Windows. */
const WITH_PASSWORD = /:\/\/.*:.*@|:(?![\\/])\S*@\S*\/|password\s*=/is;

/**
 * Everybody on the machine can read the arguments of a process, and messages repeat some. A URL that is not the value of
 * an option may be a part of one with a password.
 */
function refusePasswords(words: readonly string[]): void {
  const maySay = (word: string, index: number) =>
    WITH_PASSWORD.test(word) ||
    (/(?<!https?):\/\//.test(word) && !/(?:^| )--\w/.test(`${words[index - 1]} ${word}`));
  if (!words.some(maySay)) return;
  throw new UsageError(
    'an argument may have a password, which the list of processes shows to everybody on the machine: put the URL of a database into DATABASE_URL, or the password into the file that PGPASSFILE names.',
  );
}

/** All commands, for the help. */
export async function loadAll(registry: Registry): Promise<CommandGroup> {
  const loaded = Object.entries(registry).map(
    async ([name, load]) => [name, await load()] as const,
  );
  return groupOf(Object.fromEntries(await Promise.all(loaded)));
}

function groupOf(commands: CommandGroup['commands']): CommandGroup {
  return { purpose: "Keeps a store's catalogue of animals", commands };
}

function newProgram({ stdout, stderr }: Io): Parser {
  const width = Math.min(stdout.columns ?? HELP_WIDTH_MAX, HELP_WIDTH_MAX);
  return new Parser(programName())
    .version(VERSIONS, '-v, --version', 'show the versions of the program and its parts')
    .helpOption('-h, --help', 'show this help')
    .enablePositionalOptions()
    .addHelpText('afterAll', `\n${EXIT_CODES}`)
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      // The error is thrown, too.
      outputError: () => undefined,
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
    });
}

type Run = (command: Command, parsed: Parsed) => Promise<void>;

function define(parser: Parser, found: Command | CommandGroup, run: Run): void {
  const name = [...ancestors(parser), parser.name()].join(' ');
  parser.description(`${found.purpose}.`).exitOverride((error) => {
    const isRefused = error.exitCode !== 0 && error.code !== 'commander.help';
    throw isRefused ? new UsageError(`${plainMessage(error)}; see ${name} --help.`) : error;
  });
  if ('commands' in found) {
    parser.helpCommand('help [command]', 'Show the help of a command.');
    parser.showSuggestionAfterError(found.suggestsCommands ?? true);
    parser.addHelpText('after', `\n${name} COMMAND --help explains a command.`);
    for (const [word, member] of Object.entries(found.commands)) {
      define(parser.command(word), member, run);
    }
    return;
  }
  for (const { name: argument, description, isOptional, isRepeated } of found.arguments) {
    const shown = `${argument}${isRepeated === true ? '...' : ''}`;
    parser.argument(isOptional === true ? `[${shown}]` : `<${shown}>`, description);
  }
  for (const [option, setting] of Object.entries(found.options)) {
    parser.option(`--${option} <${setting.value}>`, describe(setting));
  }
  for (const [option, text] of Object.entries(found.switches)) parser.option(`--${option}`, text);
  parser.addHelpText('after', examplesOf(found, programOf(parser).name()));
  parser.action(() => run(found, parsedOf(parser)));
}

function ancestors({ parent }: Parser): string[] {
  return parent === null ? [] : [...ancestors(parent), parent.name()];
}

function programOf(parser: Parser): Parser {
  return parser.parent === null ? parser : programOf(parser.parent);
}

/** The message in one line, without the value of an option, which may be a secret. */
function plainMessage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, '')
    .replace(/'(--[^=]+)=[^]*'/, "'$1'")
    .replaceAll('\n', ' ')
    .replace(/\.$/, '');
}

/** The options by the names that they have on the command line. */
function parsedOf(parser: Parser): Parsed {
  const values = parser.options.map(
    (option) => [option.name(), parser.getOptionValue(option.attributeName()) as unknown] as const,
  );
  return {
    arguments: parser.args,
    flags: Object.fromEntries(
      values.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
    switches: new Set(values.filter(([, value]) => value === true).map(([name]) => name)),
  };
}

function describe({ description, variable, choices = [], ...setting }: Setting): string {
  const { value, isRequired = false, default: byDefault = setting.defaultText } = setting;
  const details = [
    ...(choices.length === 0 || value === choices.join('|') ? [] : [choices.join(', ')]),
    ...(isRequired ? ['required'] : []),
    ...(variable === undefined ? [] : [variable]),
    ...(byDefault === undefined ? [] : [`default: ${byDefault}`]),
  ];
  return details.length === 0 ? description : `${description} (${details.join('; ')})`;
}

function examplesOf({ notes, examples }: Command, program: string): string {
  const lines = examples.map((example) => `  ${program} ${example}`);
  return `\n${notes === undefined ? '' : `${notes}\n\n`}Examples:\n${lines.join('\n')}`;
}

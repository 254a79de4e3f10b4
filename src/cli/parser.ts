// The command line on commander. Only this file knows it, and it is loaded only where it is needed.

import { Argument, Command as Parser, CommanderError, Option } from 'commander';
import { UsageError, type Setting } from '../setting.ts';
import type { Command, CommandGroup, Io, Parsed } from './command.ts';
import { programName } from './program-name.ts';
import { newPaint } from './terminal.ts';

const HELP_WIDTH_MAX = 100;
const GROUP_EXAMPLES_MAX = 4;
const EXIT_CODES = 'Exit codes: 0 success, 1 failure, 2 wrong use or settings.';

/** Keeps the name of an option as it is written; commander would return `--base-url` as `baseUrl`. */
class NamedOption extends Option {
  override attributeName(): string {
    return this.name();
  }
}

/** Finds the options and arguments of a command. Returns undefined if the help is wanted. */
export function parse(
  path: readonly string[],
  command: Command,
  args: readonly string[],
  io: Io,
): Parsed | undefined {
  const parser = newParser(path, command, io);
  try {
    parser.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') return undefined;
    throw usageError(error, path, io);
  }
  const values = Object.entries(parser.opts<Record<string, string | true>>());
  return {
    arguments: parser.args,
    flags: Object.fromEntries(
      values.filter((entry): entry is [string, string] => entry[1] !== true),
    ),
    switches: new Set(values.filter(([, value]) => value === true).map(([name]) => name)),
  };
}

export function helpOf(path: readonly string[], command: Command | CommandGroup, io: Io): string {
  let text = '';
  const writeOut = (part: string) => {
    text += part;
  };
  newParser(path, command, io).configureOutput({ writeOut }).outputHelp();
  return text;
}

/** Why the word does not name a command of the group, with the name that is most like it. */
export function unknownCommand(
  path: readonly string[],
  names: readonly string[],
  word: string,
  io: Io,
): UsageError {
  const known = `the commands are ${names.join(', ')}; see ${[programName(io.env), ...path].join(' ')} --help.`;
  if (word === '' || word.startsWith('-')) {
    const before = word === '' ? '' : ` before "${word}"`;
    return new UsageError(`${path.join(' ') || 'petstore'} needs a command${before}: ${known}`);
  }
  const group = newGroupParser(path, io);
  for (const name of names) group.command(name).action(() => undefined);
  try {
    group.parse([word], { from: 'user' });
    return new UsageError(`there is no command "${word}": ${known}`);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const suggestion = /Did you mean (.*)\?/.exec(error.message)?.[1];
    const meant = suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`;
    return new UsageError(`there is no command "${word}"${meant}: ${known}`);
  }
}

function usageError({ message }: CommanderError, path: readonly string[], io: Io): UsageError {
  const sentence = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace('(Did', '(did')
    .replace(/^option '(--[\w-]+) .*' argument missing/, '$1 needs a value')
    .replace('. Expected', ': expected')
    .replace(/\.$/, '');
  return new UsageError(`${sentence}; see ${[programName(io.env), ...path].join(' ')} --help.`);
}

function newParser(path: readonly string[], command: Command | CommandGroup, io: Io): Parser {
  const parser = newGroupParser(path, io).description(`${command.purpose}.`);
  if ('commands' in command) {
    for (const [name, member] of Object.entries(command.commands)) {
      parser.addCommand(newParser([...path, name], member, io).name(name));
    }
    if (path.length === 0)
      parser.option('--version', 'show the versions of the program and its parts');
    const more = `${parser.name()} COMMAND --help explains a command.`;
    return parser.addHelpText('after', afterOptions(more, examplesOf(command), io));
  }
  for (const definition of command.arguments) {
    const { name, isOptional = false, isRepeated = false } = definition;
    const shown = `${name}${isRepeated ? '...' : ''}`;
    const argument = new Argument(isOptional ? `[${shown}]` : `<${shown}>`, definition.description);
    parser.addArgument(argument);
  }
  for (const [name, setting] of Object.entries(command.options)) {
    parser.addOption(new NamedOption(`--${name} <${setting.value}>`, describe(setting)));
  }
  for (const [name, description] of Object.entries(command.switches)) {
    parser.addOption(new NamedOption(`--${name}`, description));
  }
  return parser.addHelpText('after', afterOptions(command.notes, command.examples, io));
}

function newGroupParser(path: readonly string[], io: Io): Parser {
  const paint = newPaint(io);
  return new Parser([programName(io.env), ...path].join(' '))
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      helpWidth: Math.min(io.stdout.columns ?? HELP_WIDTH_MAX, HELP_WIDTH_MAX),
      subcommandTerm: (command) => command.name(),
      styleTitle: (text) => paint('bold', text),
    })
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
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

/** A group shows the first example of some of its commands. */
function examplesOf(found: Command | CommandGroup): readonly string[] {
  if (!('commands' in found)) return found.examples;
  const members = Object.values(found.commands).slice(0, GROUP_EXAMPLES_MAX);
  return members.flatMap((member) => examplesOf(member).slice(0, 1));
}

function afterOptions(notes: string | undefined, examples: readonly string[], io: Io): string {
  const lines = examples.map((example) => `  ${programName(io.env)} ${example}`);
  const paragraphs = notes === undefined ? [] : [notes, ''];
  return ['', ...paragraphs, 'Examples:', ...lines, '', EXIT_CODES].join('\n');
}

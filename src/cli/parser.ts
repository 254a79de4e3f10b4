// Parses the command line with commander. Only this file uses it, and is loaded only when needed.

import { Argument, Command as Parser, CommanderError, Option } from 'commander';
import { UsageError, type Setting } from '../setting.ts';
import type { Command, CommandGroup, Io, Parsed } from './command.ts';
import { programName, shellQuoted } from './program-name.ts';
import { newPaint, wrapText } from './terminal.ts';

const HELP_WIDTH_MAX = 100;
/** Descriptions are wrapped down to this width. */
const DESCRIPTION_WIDTH_MIN = 16;
const VERSION_FLAGS = ['-v', '-V', '--version'];
const HELP_GROUPS = {
  service: 'Commands that call a running service:',
  store: 'Commands that open the store itself:',
};
const GROUP_EXAMPLES_MAX = 4;
const EXAMPLE_INDENT = '  ';
const LINE_CONTINUES = ' \\';
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
    throw usageError(error, { path, command, parser, io });
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

/** The error for a word that is not a command of the group. It suggests the most similar one. */
export function unknownCommand(
  path: readonly string[],
  { commands }: { commands: object },
  word: string,
  io: Io,
): UsageError {
  const names = Object.keys(commands);
  const program = programName(io.env);
  const known = `the commands are ${names.join(', ')}; see ${[program, ...path].join(' ')} --help.`;
  if (path.length === 0 && word === 'deprecations') {
    return new UsageError(
      `deprecations is gone since version 2.0.0: ${program} keys list shows when each key last called the deprecated operation.`,
    );
  }
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

function usageError(
  { message, code }: CommanderError,
  {
    path,
    command,
    parser,
    io,
  }: { path: readonly string[]; command: Command; parser: Parser; io: Io },
): UsageError {
  const program = programName(io.env);
  const help = `${[program, ...path].join(' ')} --help`;
  // Without its value, which may be a secret.
  const [, option, meant] =
    /^error: unknown option '([^=]+?)(?:=[^]*)?'(?:\n\(Did you mean (.*)\?\))?/.exec(message) ?? [];
  if (option !== undefined && VERSION_FLAGS.includes(option)) {
    return new UsageError(`unknown option ${option}; did you mean ${program} --version?`);
  }
  const [, instead] = Object.entries(command.removed ?? {}).find(([name]) => name === option) ?? [];
  if (instead !== undefined) {
    return new UsageError(`${option} is gone since version 2.0.0: ${instead}.`);
  }
  if (option !== undefined) {
    const end = meant === undefined ? `see ${help}.` : `did you mean ${meant}? See ${help}.`;
    return new UsageError(`unknown option ${option}; ${end}`);
  }
  const isName = 'name' in command.options && parser.opts()['name'] === undefined;
  if (code === 'commander.excessArguments' && command.arguments.length === 0 && isName) {
    const name = shellQuoted(parser.args.join(' '));
    return new UsageError(`give the name with --name ${name}; see ${help}.`);
  }
  const sentence = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/^option '(--[\w-]+) .*' argument missing/, '$1 needs a value')
    .replace('. Expected', ': expected')
    .replace(/\.$/, '');
  return new UsageError(`${sentence}; see ${help}.`);
}

function newParser(path: readonly string[], command: Command | CommandGroup, io: Io): Parser {
  const parser = newGroupParser(path, io).description(`${command.purpose}.`);
  if ('commands' in command) {
    for (const [name, member] of Object.entries(command.commands)) {
      const added = newParser([...path, name], member, io).name(name);
      if (member.worksOn !== undefined) added.helpGroup(HELP_GROUPS[member.worksOn]);
      parser.addCommand(added);
    }
    if (path.length === 0)
      parser.option('-v, --version', 'show the versions of the program and its parts');
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
      helpWidth: helpWidthOf(io),
      minWidthToWrap: DESCRIPTION_WIDTH_MIN,
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

function helpWidthOf({ stdout }: Io): number {
  return Math.min(stdout.columns ?? HELP_WIDTH_MAX, HELP_WIDTH_MAX);
}

function afterOptions(notes: string | undefined, examples: readonly string[], io: Io): string {
  const width = helpWidthOf(io);
  const lines = examples.flatMap((example) =>
    commandLines(`${programName(io.env)} ${example}`, width),
  );
  const paragraphs = (notes?.split('\n\n') ?? []).flatMap((each) => [...reflowed(each, width), '']);
  const codes = wrapText(EXIT_CODES, width);
  return ['', ...paragraphs, 'Examples:', ...lines, '', ...codes].join('\n');
}

/** Wraps a paragraph if the terminal is too narrow for its lines. Lines with columns are not joined. */
function reflowed(paragraph: string, width: number): string[] {
  const lines = paragraph.split('\n');
  if (lines.every(({ length }) => length <= width)) return lines;
  const parts = paragraph.includes('  ') ? lines : [lines.join(' ')];
  return parts.flatMap((part) => wrapText(part, width));
}

/** A command that does not fit continues on the next line, as a shell accepts it. */
function commandLines(command: string, width: number): string[] {
  const whole = `${EXAMPLE_INDENT}${command}`;
  if (whole.length <= width) return [whole];
  const lines = wrapText(command, width - 2 * EXAMPLE_INDENT.length - LINE_CONTINUES.length);
  return lines.map((line, index) => {
    const indent = EXAMPLE_INDENT.repeat(index === 0 ? 1 : 2);
    return `${indent}${line}${index === lines.length - 1 ? '' : LINE_CONTINUES}`;
  });
}

import { randomBytes } from 'node:crypto';
import type { RandomBytes } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import {
  readSettings,
  type Flags,
  type Settings,
  type Values,
  type Variables,
} from '../setting.ts';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The variables and streams that a command uses. */
export interface Io {
  env: Variables;
  /** Read if a file is `-`, and for the reply to a question. The default is that of the process. */
  stdin?: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  /** Results, which a program may read. */
  stdout: Output;
  /** Messages for people. */
  stderr: Output;
  /** The default is that of the process. */
  clock?: Clock;
  randomBytes?: RandomBytes;
}

/** The same, with the defaults that a command needs. */
export type CommandIo = Io & Required<Pick<Io, 'clock' | 'randomBytes'>>;

const OF_PROCESS: Required<Pick<Io, 'clock' | 'randomBytes'>> = {
  clock: { now: () => new Date(), elapsedMs: () => performance.now() },
  randomBytes,
};

/** A word on the command line that is not an option. */
interface ArgumentDefinition {
  /** Its placeholder, such as `ID`. */
  name: string;
  description: string;
  isOptional?: boolean;
  /** Only the last argument may be repeated. */
  isRepeated?: boolean;
}

/** Options without a value, and what each does. */
type Switches = Readonly<Record<string, string>>;

export interface Call<Options extends Settings, Flag extends string> {
  arguments: readonly string[];
  options: Values<Options>;
  /** Whether each switch was given. */
  switches: Readonly<Record<Flag, boolean>>;
  /** The options that were given on the command line, before they were parsed. */
  flags: Flags;
  io: CommandIo;
}

interface Definition<Options extends Settings, Flag extends string> {
  /** One sentence without a full stop, shown in every list of commands. */
  purpose: string;
  arguments?: readonly ArgumentDefinition[];
  options?: Options;
  switches?: Readonly<Record<Flag, string>>;
  /** Paragraphs of the help, below the options. */
  notes?: string;
  /** Each is a whole command without its first word, `petstore`. A test runs them. */
  examples: readonly [string, string, ...string[]];
  /** Returns the exit code. */
  action: (call: Call<Options, Flag>) => Promise<number>;
}

/** What the parser has found. Only the number of arguments has been validated. */
export interface Parsed {
  arguments: string[];
  flags: Record<string, string>;
  switches: Set<string>;
}

/** A command, without the types of its own options. */
export interface Command extends Omit<Definition<Settings, string>, 'action'> {
  arguments: readonly ArgumentDefinition[];
  options: Settings;
  switches: Switches;
  run: (parsed: Parsed, io: Io) => Promise<number>;
}

/** Commands that share their first word. */
export interface CommandGroup {
  purpose: string;
  /** False if a similar command must not be suggested for an unknown one, because it does something else. */
  suggestsCommands?: boolean;
  commands: Readonly<Record<string, Command | CommandGroup>>;
}

/** Every command by its name. Each is loaded only when it is needed. */
export type Registry = Readonly<Record<string, () => Promise<Command | CommandGroup>>>;

export function defineCommand<
  const Options extends Settings = Settings,
  Flag extends string = never,
>({ action, ...definition }: Definition<Options, Flag>): Command {
  const { options = {} as Options, switches = {} } = definition;
  return {
    ...definition,
    arguments: definition.arguments ?? [],
    options,
    switches,
    run: (parsed, io) =>
      action({
        arguments: parsed.arguments,
        options: readSettings(options, parsed.flags, io.env),
        switches: Object.fromEntries(
          Object.keys(switches).map((name) => [name, parsed.switches.has(name)]),
        ) as Record<Flag, boolean>,
        flags: parsed.flags,
        io: { ...OF_PROCESS, ...io },
      }),
  };
}

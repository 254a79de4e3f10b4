// What a setting is, and how its value is read.

/** A command or setting that is not valid. The message is one line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A setting or an option of a command. The parser, the help, docs/settings.md and the error text follow from it. */
export interface Setting {
  /** The environment variable that is used if the flag is not given. */
  variable?: string;
  /** The placeholder for its value. */
  value: string;
  /** Used and shown when neither the flag nor the variable is given. */
  default?: string;
  /** Shown as the default if that is not a fixed value. */
  defaultText?: string;
  isRequired?: boolean;
  description: string;
  /** Returns the value of a valid text, and undefined for any other. */
  parse: (text: string) => unknown;
  /** Completes the sentence "it must be …", perhaps for this text. */
  mustBe: string | ((text: string) => string);
  choices?: readonly string[];
  /** The value may hold a password, so no message repeats it. */
  isSecret?: boolean;
}

export type Settings = Readonly<Record<string, Setting>>;

/** The values on the command line, by the name of the setting. */
export type Flags = Readonly<Record<string, string | undefined>>;

/**
 * By the name of a setting what its `parse` returns: `{ limit: number }` with a default, and otherwise
 * `{ limit: number | undefined }`.
 */
export type Values<Of extends Settings> = {
  readonly [Name in keyof Of]:
    | NonNullable<ReturnType<Of[Name]['parse']>>
    | (Of[Name] extends { default: string } | { isRequired: true } ? never : undefined);
};

export type Variables = Readonly<Record<string, string | undefined>>;

/** A flag takes precedence over a variable, and a variable over the default. */
export function readSettings<Of extends Settings>(
  settings: Of,
  flags: Flags,
  variables: Variables,
): Values<Of> {
  const values = Object.entries<Setting>(settings).map(([name, setting]) => {
    const { variable = '', default: byDefault, isRequired, description, parse } = setting;
    const flag = flags[name];
    if (flag !== undefined) return [name, parseValue(`--${name}`, setting, flag)];
    const text = variables[variable];
    if (text) return [name, parseValue(variable, setting, text)];
    if (isRequired) throw new UsageError(`--${name} is missing: ${description}.`);
    return [name, byDefault === undefined ? undefined : parse(byDefault)];
  });
  return Object.fromEntries(values) as Values<Of>;
}

/** Parses a text, or throws a UsageError that names where the text comes from and what it must be. */
function parseValue<Of extends Pick<Setting, 'parse' | 'mustBe' | 'isSecret'>>(
  source: string,
  { parse, mustBe, isSecret }: Of,
  text: string,
): NonNullable<ReturnType<Of['parse']>> {
  const value = parse(text) as ReturnType<Of['parse']>;
  if (value !== undefined && value !== null) return value;
  // Whatever stands before an @ may be a password.
  const isHidden = isSecret === true || text.includes('@');
  const shown = isHidden ? 'not usable' : `"${text}"`;
  const wanted = typeof mustBe === 'string' ? mustBe : mustBe(isHidden ? '' : text);
  throw new UsageError(`${source} is ${shown}: it must be ${wanted}.`);
}

/** The part of a setting whose value is one of a few words. */
export function oneOf<Choice extends string>(choices: readonly Choice[]) {
  return {
    value: choices.join('|'),
    choices,
    parse: (text: string) => choices.find((each) => each === text),
    mustBe: choices.length === 2 ? choices.join(' or ') : `one of ${choices.join(', ')}`,
  };
}

/** The part of a setting whose value is an integer. */
export function integerFrom(min: number, max: number) {
  return {
    parse(text: string): number | undefined {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : undefined;
    },
    mustBe: `an integer from ${min} to ${max}`,
  };
}

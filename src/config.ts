import { parseArgs, type ParseArgsConfig } from 'node:util';
import { environmentOfSecret, ENVIRONMENTS, type Environment } from './domain/api-key.ts';
import { LOG_LEVELS, type LogLevel } from './ops/log.ts';

/** All settings of the service, validated and frozen. */
export interface Config {
  readonly environment: Environment;
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  /** The folder of this environment. */
  readonly dataFolder: string;
  readonly databaseUrl: string | undefined;
  readonly adminPort: number | undefined;
  readonly isAdminPortGiven: boolean;
  readonly rateLimit: { requests: number; windowSeconds: number } | undefined;
  readonly corsOrigins: readonly string[];
  readonly workers: number;
  readonly logLevel: LogLevel;
  readonly bootstrapKey: string | undefined;
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** The environment variables of this process. Only this file reads `process.env`. */
export const processVariables: Variables = process.env;

/** A command or setting that is not valid. The message is one line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface Setting {
  variable: string;
  /** The placeholder for the value in the help. */
  value: string;
  /** Shown in the help. It is parsed like a given value, unless it only describes what happens. */
  default: string;
  description: string;
  valueOrUndefined: (text: string) => unknown;
  /** What is valid; completes the sentence "it must be …". */
  right: string;
  /** The value may hold a password, so no message repeats it. */
  isSecret?: boolean;
}

const PORT_RULE = 'an integer from 0 to 65535 (0 is any free port)';
const RATE_REQUESTS_MAX = 100_000_000;
const RATE_WINDOW_SECONDS_MAX = 86_400;
export const DEFAULT_PORT = { production: 8080, staging: 8090 } as const;
const DEFAULT_ADMIN_PORT = { production: 9464, staging: 9474 } as const;

export const SETTINGS = {
  env: {
    variable: 'PETSTORE_ENV',
    value: 'production|staging',
    default: 'production',
    description: 'the environment: production or staging',
    valueOrUndefined: (text: string) => ENVIRONMENTS.find((each) => each === text),
    right: 'production or staging',
  },
  host: {
    variable: 'PETSTORE_HOST',
    value: 'ADDRESS',
    default: '127.0.0.1',
    description: 'the address to listen on',
    valueOrUndefined: (text: string) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    right: 'an address of this machine, such as 127.0.0.1 or 0.0.0.0',
  },
  port: {
    variable: 'PETSTORE_PORT',
    value: 'PORT',
    default: `${DEFAULT_PORT.production}, staging ${DEFAULT_PORT.staging}`,
    description: 'the port to listen on; 0 selects a free port',
    valueOrUndefined: portOrUndefined,
    right: PORT_RULE,
  },
  'base-url': {
    variable: 'PETSTORE_BASE_URL',
    value: 'URL',
    default: 'from host and port',
    description: 'the URL under which clients reach the service; ends in /v1',
    valueOrUndefined: baseUrlOrUndefined,
    right: 'an http or https address that ends in /v1',
  },
  data: {
    variable: 'PETSTORE_DATA',
    value: 'FOLDER',
    default: './data',
    description: 'the folder of the embedded store, with one folder per environment',
    valueOrUndefined: (text: string) => text || undefined,
    right: 'a folder',
  },
  database: {
    variable: 'DATABASE_URL',
    value: 'postgres://…',
    default: 'unset: the embedded store',
    description: 'the PostgreSQL database to use instead of the embedded store',
    valueOrUndefined: (text: string) => (/^postgres(?:ql)?:\/\//.test(text) ? text : undefined),
    right: 'an address such as postgres://user:password@host:5432/database',
    isSecret: true,
  },
  'admin-port': {
    variable: 'PETSTORE_ADMIN_PORT',
    value: 'PORT|off',
    default: `${DEFAULT_ADMIN_PORT.production}, staging ${DEFAULT_ADMIN_PORT.staging}`,
    description: 'the port of /metrics, /livez and /readyz, on the loopback address',
    valueOrUndefined: (text: string) => (text === 'off' ? text : portOrUndefined(text)),
    right: `${PORT_RULE}, or off`,
  },
  'rate-limit': {
    variable: 'PETSTORE_RATE_LIMIT',
    value: 'N/SECONDS',
    default: 'off',
    description: 'the number of requests per API key, such as 600/60s',
    valueOrUndefined: rateLimitOrUndefined,
    right: 'requests/seconds such as 600/60s, or off',
  },
  'cors-origins': {
    variable: 'PETSTORE_CORS_ORIGINS',
    value: 'ORIGIN,…',
    default: 'none',
    description: 'the exact origins whose pages may call the service',
    valueOrUndefined: originsOrUndefined,
    right: 'exact origins such as https://shop.example, separated by commas',
  },
  workers: {
    variable: 'PETSTORE_WORKERS',
    value: 'N',
    default: '1',
    description: 'the number of worker processes',
    valueOrUndefined: (text: string) => integerOrUndefined(text, 1, 256),
    right: 'an integer from 1 to 256',
  },
  log: {
    variable: 'PETSTORE_LOG',
    value: LOG_LEVELS.join('|'),
    default: 'info',
    description: 'the log level; debug logs one line per request',
    valueOrUndefined: (text: string) => LOG_LEVELS.find((each) => each === text),
    right: `one of ${LOG_LEVELS.join(', ')}`,
  },
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** Reads the settings. A flag overrides a variable, which overrides the default. */
export function loadConfig(args: readonly string[], variables: Variables): Config {
  const names = Object.keys(SETTINGS) as SettingName[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const flags: Partial<Record<SettingName, string>> = parseArguments({ args, options }).values;

  function read<Name extends SettingName>(name: Name): Parsed<Name> | undefined {
    const setting: Setting = SETTINGS[name];
    const text = flags[name] ?? (variables[setting.variable] || undefined);
    if (text === undefined) return undefined;
    const value = setting.valueOrUndefined(text);
    if (value !== undefined) return value as Parsed<Name>;
    const source = flags[name] === undefined ? setting.variable : `--${name}`;
    const shown = setting.isSecret === true ? 'not usable' : `"${text}"`;
    throw new UsageError(`${source} is ${shown}: it must be ${setting.right}.`);
  }

  function readOrDefault<Name extends SettingName>(name: Name): Parsed<Name> {
    return read(name) ?? (SETTINGS[name].valueOrUndefined(SETTINGS[name].default) as Parsed<Name>);
  }

  const environment = readOrDefault('env');
  const adminPort = read('admin-port');
  const rateLimit = readOrDefault('rate-limit');
  return Object.freeze({
    environment,
    host: readOrDefault('host'),
    port: read('port') ?? DEFAULT_PORT[environment],
    baseUrl: read('base-url'),
    dataFolder: `${readOrDefault('data')}/${environment}`,
    databaseUrl: read('database'),
    adminPort: adminPort === 'off' ? undefined : (adminPort ?? DEFAULT_ADMIN_PORT[environment]),
    isAdminPortGiven: adminPort !== undefined,
    rateLimit: rateLimit === 'off' ? undefined : rateLimit,
    corsOrigins: read('cors-origins') ?? [],
    workers: readOrDefault('workers'),
    logLevel: readOrDefault('log'),
    bootstrapKey: bootstrapKey(variables, environment),
  });
}

type Parsed<Name extends SettingName> = NonNullable<
  ReturnType<(typeof SETTINGS)[Name]['valueOrUndefined']>
>;

/** `parseArgs` of Node.js, except that arguments which it refuses are a UsageError. */
export function parseArguments<Options extends ParseArgsConfig>(options: Options) {
  try {
    return parseArgs(options);
  } catch (error) {
    throw new UsageError(firstSentence(error));
  }
}

/** The first sentence of the parser's message: the rest is advice for arguments that no command here takes. */
export function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${message.split('. ')[0]?.replace(/\.$/, '')}; see petstore --help.`;
}

function bootstrapKey(variables: Variables, environment: Environment): string | undefined {
  const key = variables['PETSTORE_BOOTSTRAP_KEY'] || undefined;
  if (key === undefined || environmentOfSecret(key) === environment) return key;
  // The value is a secret, so the message does not repeat it.
  throw new UsageError(
    `PETSTORE_BOOTSTRAP_KEY is not a ${environment} key: it must be a key that petstore keys create printed for this environment.`,
  );
}

function integerOrUndefined(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function portOrUndefined(text: string): number | undefined {
  return integerOrUndefined(text, 0, 65_535);
}

function baseUrlOrUndefined(text: string): string | undefined {
  const url = URL.parse(text);
  const isUsable =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.pathname.endsWith('/v1') &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '';
  return isUsable ? url.href : undefined;
}

function rateLimitOrUndefined(text: string) {
  if (text === 'off') return 'off';
  const [, requestsText = '', secondsText = ''] = /^(\d+)\/(\d+)s$/.exec(text) ?? [];
  const requests = integerOrUndefined(requestsText, 1, RATE_REQUESTS_MAX);
  const windowSeconds = integerOrUndefined(secondsText, 1, RATE_WINDOW_SECONDS_MAX);
  if (requests === undefined || windowSeconds === undefined) return undefined;
  return { requests, windowSeconds };
}

function originsOrUndefined(text: string): string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => URL.parse(origin)?.origin === origin) ? origins : undefined;
}

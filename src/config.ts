import { parseArgs } from 'node:util';
import { environmentOfSecret, ENVIRONMENTS, type Environment } from './domain/api-key.ts';
import { LOG_LEVELS, type LogLevel } from './ops/log.ts';

/** Everything the service can be told, checked and frozen. */
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

/** The environment variables of this process. Nobody else reads them. */
export const processVariables: Variables = process.env;

/** A command or setting that makes no sense. The message is one line; the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

interface Setting {
  variable: string;
  /** What stands behind the flag in the help. */
  value: string;
  default: string;
  description: string;
  /** Undefined for a text that makes no sense. */
  parse: (text: string) => unknown;
  /** What would make sense, to stand behind "it must be". */
  right: string;
  /** The value may hold a password and is never repeated. */
  isSecret?: boolean;
}

const PORT_RULE = 'an integer from 0 to 65535 (0 is any free port)';

export const SETTINGS = {
  env: {
    variable: 'PETSTORE_ENV',
    value: 'production|staging',
    default: 'production',
    description: 'which of the two environments this is',
    parse: (text: string) => ENVIRONMENTS.find((each) => each === text),
    right: 'production or staging',
  },
  host: {
    variable: 'PETSTORE_HOST',
    value: 'ADDRESS',
    default: '127.0.0.1',
    description: 'the address to listen on',
    parse: (text: string) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    right: 'an address of this machine, such as 127.0.0.1 or 0.0.0.0',
  },
  port: {
    variable: 'PETSTORE_PORT',
    value: 'PORT',
    default: '8080, staging 8090',
    description: 'the port to listen on; 0 is any free one',
    parse: parsePort,
    right: PORT_RULE,
  },
  'base-url': {
    variable: 'PETSTORE_BASE_URL',
    value: 'URL',
    default: 'from host and port',
    description: 'how clients reach the service; ends in /v1',
    parse: parseBaseUrl,
    right: 'an http or https address that ends in /v1',
  },
  data: {
    variable: 'PETSTORE_DATA',
    value: 'FOLDER',
    default: './data',
    description: 'where the embedded store lives, one folder an environment',
    parse: (text: string) => text || undefined,
    right: 'a folder',
  },
  database: {
    variable: 'DATABASE_URL',
    value: 'postgres://…',
    default: 'unset: the embedded store',
    description: 'a PostgreSQL database instead of the embedded store',
    parse: (text: string) => (/^postgres(?:ql)?:\/\//.test(text) ? text : undefined),
    right: 'an address such as postgres://user:password@host:5432/database',
    isSecret: true,
  },
  'admin-port': {
    variable: 'PETSTORE_ADMIN_PORT',
    value: 'PORT|off',
    default: '9464, staging 9474',
    description: '/metrics, /livez and /readyz on the loopback address',
    parse: (text: string) => (text === 'off' ? text : parsePort(text)),
    right: `${PORT_RULE}, or off`,
  },
  'rate-limit': {
    variable: 'PETSTORE_RATE_LIMIT',
    value: 'N/SECONDS',
    default: 'off',
    description: 'requests a key may make, such as 600/60s',
    parse: parseRateLimit,
    right: 'requests/seconds such as 600/60s, or off',
  },
  'cors-origins': {
    variable: 'PETSTORE_CORS_ORIGINS',
    value: 'ORIGIN,…',
    default: 'none',
    description: 'exact origins whose pages may call the service',
    parse: parseOrigins,
    right: 'exact origins such as https://shop.example, separated by commas',
  },
  workers: {
    variable: 'PETSTORE_WORKERS',
    value: 'N',
    default: '1',
    description: 'how many processes serve',
    parse: (text: string) => parseInteger(text, 1, 256),
    right: 'an integer from 1 to 256',
  },
  log: {
    variable: 'PETSTORE_LOG',
    value: LOG_LEVELS.join('|'),
    default: 'info',
    description: 'how much is logged; debug has a line a request',
    parse: (text: string) => LOG_LEVELS.find((each) => each === text),
    right: `one of ${LOG_LEVELS.join(', ')}`,
  },
} satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

const RATE_REQUESTS_MAX = 100_000_000;
const RATE_WINDOW_SECONDS_MAX = 86_400;
const DEFAULT_PORTS = {
  production: { port: 8080, adminPort: 9464 },
  staging: { port: 8090, adminPort: 9474 },
} as const;

/** Reads the settings: flags over variables over defaults. */
export function loadConfig(args: readonly string[], variables: Variables): Config {
  const flags = parseFlags(args);

  function read<Name extends SettingName>(name: Name): Parsed<Name> | undefined {
    const setting: Setting = SETTINGS[name];
    const text = flags[name] ?? (variables[setting.variable] || undefined);
    if (text === undefined) return undefined;
    const value = setting.parse(text);
    if (value !== undefined) return value as Parsed<Name>;
    const source = flags[name] === undefined ? setting.variable : `--${name}`;
    const shown = setting.isSecret === true ? 'not usable' : `"${text}"`;
    throw new UsageError(`${source} is ${shown}: it must be ${setting.right}.`);
  }

  const environment = read('env') ?? 'production';
  const defaults = DEFAULT_PORTS[environment];
  const adminPort = read('admin-port') ?? defaults.adminPort;
  const rateLimit = read('rate-limit') ?? 'off';
  return Object.freeze({
    environment,
    host: read('host') ?? '127.0.0.1',
    port: read('port') ?? defaults.port,
    baseUrl: read('base-url'),
    dataFolder: `${read('data') ?? './data'}/${environment}`,
    databaseUrl: read('database'),
    adminPort: adminPort === 'off' ? undefined : adminPort,
    isAdminPortGiven: read('admin-port') !== undefined,
    rateLimit: rateLimit === 'off' ? undefined : rateLimit,
    corsOrigins: read('cors-origins') ?? [],
    workers: read('workers') ?? 1,
    logLevel: read('log') ?? 'info',
    bootstrapKey: bootstrapKey(variables, environment),
  });
}

type Parsed<Name extends SettingName> = NonNullable<ReturnType<(typeof SETTINGS)[Name]['parse']>>;

function parseFlags(args: readonly string[]): Partial<Record<SettingName, string>> {
  const options = Object.fromEntries(
    Object.keys(SETTINGS).map((name) => [name, { type: 'string' as const }]),
  );
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(firstSentence(error));
  }
}

/** The parser's message without its advice, which is about a case nobody has here. */
export function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${message.split('. ')[0]?.replace(/\.$/, '')}; see petstore --help.`;
}

function bootstrapKey(variables: Variables, environment: Environment): string | undefined {
  const key = variables['PETSTORE_BOOTSTRAP_KEY'] || undefined;
  if (key === undefined || environmentOfSecret(key) === environment) return key;
  // The value is a secret and stays out of the message.
  throw new UsageError(
    `PETSTORE_BOOTSTRAP_KEY is not a ${environment} key: it must be one that petstore keys create made for this environment.`,
  );
}

function parseInteger(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function parsePort(text: string): number | undefined {
  return parseInteger(text, 0, 65_535);
}

function parseBaseUrl(text: string): string | undefined {
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

function parseRateLimit(text: string) {
  if (text === 'off') return 'off';
  const [, requestsText = '', secondsText = ''] = /^(\d+)\/(\d+)s$/.exec(text) ?? [];
  const requests = parseInteger(requestsText, 1, RATE_REQUESTS_MAX);
  const windowSeconds = parseInteger(secondsText, 1, RATE_WINDOW_SECONDS_MAX);
  if (requests === undefined || windowSeconds === undefined) return undefined;
  return { requests, windowSeconds };
}

function parseOrigins(text: string): string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => URL.parse(origin)?.origin === origin) ? origins : undefined;
}

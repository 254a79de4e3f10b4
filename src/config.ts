import { environmentOfSecret } from './domain/api-key.ts';
import { ENVIRONMENTS, type Environment } from './domain/key-form.ts';
import type { LogLevel } from './ops/log.ts';
import {
  integerFrom,
  oneOf,
  readSettings,
  UsageError,
  type Flags,
  type Settings,
  type Variables,
} from './setting.ts';

/** Only this file reads `process.env`. */
export const processVariables: Variables = process.env;

const PORT = {
  ...integerFrom(0, 65_535),
  mustBe: 'an integer from 0 to 65535 (0 is any free port)',
};
const WORKERS = integerFrom(1, 256);
const ADDRESS = {
  value: 'ADDRESS',
  default: '127.0.0.1',
  parse: (text: string) => (/^[\w.:-]+$/.test(text) ? text : undefined),
  mustBe: 'an address of this machine, such as 127.0.0.1 or 0.0.0.0',
};
export const DEFAULT_PORT = { production: 8080, staging: 8090 } as const;
const DEFAULT_ADMIN_PORT = { production: 9464, staging: 9474 } as const;

export const SETTINGS = {
  env: {
    variable: 'PETSTORE_ENV',
    ...oneOf(ENVIRONMENTS),
    default: 'production',
    description: 'the environment: production or staging',
  },
  host: {
    variable: 'PETSTORE_HOST',
    description: 'the address to listen on',
    ...ADDRESS,
  },
  port: {
    variable: 'PETSTORE_PORT',
    value: 'PORT',
    defaultText: `${DEFAULT_PORT.production}, staging ${DEFAULT_PORT.staging}`,
    description: 'the port to listen on; 0 selects a free port',
    ...PORT,
  },
  'base-url': {
    variable: 'PETSTORE_BASE_URL',
    value: 'URL',
    defaultText: 'none: links are relative to the request',
    description: 'the URL under which clients reach the service; ends in /v1',
    parse: baseUrlOrUndefined,
    mustBe: 'an http or https address that ends in /v1',
  },
  data: {
    variable: 'PETSTORE_DATA',
    value: 'FOLDER',
    default: './data',
    description: 'the folder of the embedded store, with one folder per environment',
    // The URL of a database in its place may have a password, which messages would repeat.
    parse: (text: string) => (text.includes('://') ? undefined : text || undefined),
    mustBe: 'a folder',
  },
  database: {
    variable: 'DATABASE_URL',
    value: 'postgres://…',
    defaultText: 'the embedded store',
    description: 'the PostgreSQL database to use instead of the embedded store',
    parse: (text: string) => (/^postgres(?:ql)?:\/\//.test(text) ? text : undefined),
    mustBe: 'an address such as postgres://user@host:5432/database',
    isSecret: true,
  },
  'admin-port': {
    variable: 'PETSTORE_ADMIN_PORT',
    value: 'PORT|off',
    defaultText: `${DEFAULT_ADMIN_PORT.production}, staging ${DEFAULT_ADMIN_PORT.staging}`,
    description: 'the port of the monitor, /metrics, /livez and /readyz',
    parse: (text: string) => (text === 'off' ? text : PORT.parse(text)),
    mustBe: `${PORT.mustBe}, or off`,
  },
  'admin-host': {
    variable: 'PETSTORE_ADMIN_HOST',
    description: 'the address of the admin port; everyone who can reach it can read the metrics',
    ...ADDRESS,
  },
  'rate-limit': {
    variable: 'PETSTORE_RATE_LIMIT',
    value: 'N/SECONDS',
    default: 'off',
    description: 'the number of requests per API key, such as 600/60s',
    parse: rateLimitOrUndefined,
    mustBe: 'requests/seconds such as 600/60s, or off',
  },
  'cors-origins': {
    variable: 'PETSTORE_CORS_ORIGINS',
    value: 'ORIGIN,…',
    defaultText: 'none',
    description: 'the exact origins whose pages may call the service',
    parse: originsOrUndefined,
    mustBe: originsMustBe,
  },
  workers: {
    variable: 'PETSTORE_WORKERS',
    value: 'N|auto',
    default: '1',
    description: 'the number of worker processes; auto is one per available core',
    parse: (text: string) => (text === 'auto' ? text : WORKERS.parse(text)),
    mustBe: `${WORKERS.mustBe}, or auto`,
  },
  'drain-delay': {
    variable: 'PETSTORE_DRAIN_DELAY',
    value: 'SECONDS',
    default: '0',
    description:
      'the seconds after SIGTERM in which requests are still accepted, while /readyz is 503',
    ...integerFrom(0, 300),
    mustBe: 'an integer from 0 to 300, in seconds',
  },
  log: {
    variable: 'PETSTORE_LOG',
    ...oneOf<LogLevel>(['silent', 'fatal', 'error', 'warn', 'info', 'debug']),
    value: 'LEVEL',
    default: 'info',
    description: 'the log level; debug logs one line per request',
  },
  'access-log': {
    variable: 'PETSTORE_ACCESS_LOG',
    ...oneOf(['off', '-']),
    default: 'off',
    description: 'the log of every request with its key: off, or - for standard output',
  },
} satisfies Settings;

export type SettingName = keyof typeof SETTINGS;

/** All settings of the service. */
export type Config = ReturnType<typeof loadConfig>;

export function loadConfig(flags: Flags, variables: Variables) {
  const given = readSettings(SETTINGS, flags, variables);
  const { env, 'admin-port': adminPort, 'admin-host': adminHost, 'rate-limit': rateLimit } = given;
  return Object.freeze({
    environment: env,
    host: given.host,
    port: given.port ?? DEFAULT_PORT[env],
    baseUrl: given['base-url'],
    /** The folder of this environment. */
    dataFolder: `${given.data}/${env}`,
    databaseUrl: given.database,
    adminPort: adminPort === 'off' ? undefined : (adminPort ?? DEFAULT_ADMIN_PORT[env]),
    adminHost,
    /** Whether the admin port or its address was set. Then the start fails if it cannot be used. */
    isAdminGiven: adminPort !== undefined || adminHost !== ADDRESS.default,
    rateLimit: rateLimit === 'off' ? undefined : rateLimit,
    corsOrigins: given['cors-origins'] ?? [],
    workers: given.workers,
    drainDelaySeconds: given['drain-delay'],
    logLevel: given.log,
    hasAccessLog: given['access-log'] === '-',
    bootstrapKey: bootstrapKey(variables, env),
  });
}

function bootstrapKey(variables: Variables, environment: Environment): string | undefined {
  const key = variables['PETSTORE_BOOTSTRAP_KEY'] || undefined;
  if (key === undefined || environmentOfSecret(key) === environment) return key;
  // The value is a secret, so the message does not repeat it.
  throw new UsageError(
    `PETSTORE_BOOTSTRAP_KEY is not a ${environment} key: it must be a key that the command keys create printed for this environment.`,
  );
}

function baseUrlOrUndefined(text: string): string | undefined {
  const href = URL.parse(text)?.href ?? '';
  return /^https?:\/\/[^?#@]+\/v1$/.test(href) ? href : undefined;
}

function rateLimitOrUndefined(text: string) {
  if (text === 'off') return 'off';
  const [, requestsText = '', secondsText = ''] = /^(\d+)\/(\d+)s$/.exec(text) ?? [];
  const requests = integerFrom(1, 100_000_000).parse(requestsText);
  const windowSeconds = integerFrom(1, 86_400).parse(secondsText);
  if (requests === undefined || windowSeconds === undefined) return undefined;
  return { requests, windowSeconds };
}

function originsOrUndefined(text: string): string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => URL.parse(origin)?.origin === origin) ? origins : undefined;
}

/** Of an address with a path or a slash at its end, the origin is what was meant. */
function originsMustBe(text: string): string {
  const meant = text.split(',').map((address) => URL.parse(address.trim())?.origin ?? 'null');
  if (!meant.includes('null')) return meant.join(',');
  const rule = 'exact origins such as https://shop.example, separated by commas';
  return text.includes('*') ? `${rule}: name each one that may use a key` : rule;
}

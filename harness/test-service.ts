import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../src/config.ts';
import type { Flags } from '../src/setting.ts';
import type { Clock } from '../src/domain/clock.ts';
import { newApiKey, newSecret, type ApiKey, type Scope } from '../src/domain/api-key.ts';
import { openLog, type LogLevel } from '../src/ops/log.ts';
import { openConfiguredStore } from '../src/open-store.ts';
import { startService, type Runtime } from '../src/service.ts';

/** A kind of store to run a suite on. Each new database is empty, and its flags make a service use it. */
export interface TestStorage {
  name: string;
  newDatabase(): Promise<{ flags: string[]; remove(): Promise<void> }>;
}

export const sqliteStorage: TestStorage = {
  name: 'SQLite',
  async newDatabase() {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
    return {
      flags: ['--data', folder],
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
};

/** The store that these flags name. The test has made it, and may use it before and afterwards. */
export function storageOf(...flags: string[]): TestStorage {
  const database = { flags, remove: async () => undefined };
  return { name: flags.join(' '), newDatabase: async () => database };
}

export interface Sent {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body, with numbers rounded to doubles. Use `text` if every digit matters. */
  json: () => unknown;
}

export interface KeyOptions {
  scopes?: Scope[];
  expiresAt?: Date;
  revokedAt?: Date;
  firstKeyId?: string;
}

export interface TestService {
  baseUrl: string;
  /** The key that the first start created, with both scopes. */
  key: string;
  flags: string[];
  logLines: string[];
  setNow(now: Date): void;
  /** Sends one request below the base URL with `key`. A header with the value "" is not sent. */
  send(path: string, sent?: Sent): Promise<Received>;
  addKey(options: KeyOptions): Promise<string>;
  listKeys(): Promise<ApiKey[]>;
  close(): Promise<void>;
}

/** The settings of `--name value` pairs, as the command line would find them. */
export function flagsOf(args: readonly string[]): Flags {
  const names = args.filter((_, index) => index % 2 === 0);
  return Object.fromEntries(
    names.map((name, index) => [name.slice('--'.length), args[2 * index + 1] ?? '']),
  );
}

/** So short that a test need not wait. */
export const SHORT_TIMEOUTS: Runtime['clientTimeouts'] = {
  headersMs: 200,
  requestMs: 400,
  checkMs: 50,
  sweepMs: 50,
};

export interface TestServiceOptions {
  flags?: string[];
  now?: Date;
  clock?: Clock;
  newRequestId?: () => string;
  logLevel?: LogLevel;
  clientTimeouts?: Runtime['clientTimeouts'];
}

/** Starts the service with its real parts, on a free port. */
export async function startTestService(
  storage: TestStorage,
  options: TestServiceOptions = {},
): Promise<TestService> {
  const database = await storage.newDatabase();
  const flags = [...database.flags, '--port', '0', '--admin-port', 'off', ...(options.flags ?? [])];
  const config = loadConfig(flagsOf(flags), {});
  const logLines: string[] = [];
  let now = options.now;
  const clock = options.clock ?? {
    now: () => now ?? new Date(),
    elapsedMs: () => performance.now(),
  };
  const service = await startService(config, {
    clock,
    randomBytes,
    newRequestId: options.newRequestId ?? randomUUID,
    isWorker: false,
    clientTimeouts: options.clientTimeouts,
    log: openLog(options.logLevel ?? 'debug', { write: (line) => logLines.push(line) }),
  });
  const key = service.firstKey ?? '';
  return {
    baseUrl: service.baseUrl,
    key,
    flags: database.flags,
    logLines,
    setNow: (moment) => {
      now = moment;
    },
    send: (path, sent = {}) =>
      send(service.baseUrl + path, {
        ...sent,
        headers: { authorization: `Bearer ${key}`, ...sent.headers },
      }),
    addKey: (added) => addKey(config, clock.now(), added),
    async listKeys() {
      const store = await openConfiguredStore(config);
      const keys = await store.listApiKeys();
      await store.close();
      return keys;
    },
    async close() {
      await service.close();
      await database.remove();
    },
  };
}

/** Adds a key with a second connection to the store, as `petstore keys create` does. */
async function addKey(
  config: Config,
  now: Date,
  { scopes, expiresAt, revokedAt, firstKeyId }: KeyOptions,
): Promise<string> {
  const secret = newSecret(config.environment, randomBytes);
  const made = newApiKey({
    secret,
    name: 'test',
    ...(scopes && { scopes }),
    ...(firstKeyId && { firstKeyId }),
    expiresAt,
    now,
    randomBytes,
  });
  const store = await openConfiguredStore(config);
  await store.createApiKey({ ...made, revokedAt });
  await store.close();
  return secret;
}

export function send(
  url: string,
  { method = 'GET', headers = {}, body }: Sent = {},
): Promise<Received> {
  const kept = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: kept, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: () => JSON.parse(text) as unknown,
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** The URLs of a Link header, by relation. */
export function linksOf({ headers }: Received): Record<string, string> {
  const links = [...String(headers.link ?? '').matchAll(/<([^>]*)>; rel="([^"]*)"/g)];
  return Object.fromEntries(links.map(([, url = '', relation = '']) => [relation, url]));
}

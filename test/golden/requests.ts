// Every request of requests.txt gets exactly the response that is recorded below it, on every store. A heading begins
// with an empty store. `= service` opens another one, with these flags, and `= now` sets its clock.

import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, test } from 'node:test';
import { freePort } from '../../harness/free-port.ts';
import {
  flagsOf,
  startTestService,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { loadConfig } from '../../src/config.ts';
import { newApiKey, newSecret, type ApiKey } from '../../src/domain/api-key.ts';
import type { Environment } from '../../src/domain/key-form.ts';
import { openConfiguredStore } from '../../src/open-store.ts';
import { Recording } from './recording.ts';
import { REQUEST_ID, responseLines } from './response-lines.ts';

const START = new Date('2027-01-02T00:00:00Z');
const recording = new Recording(
  new URL('requests.txt', import.meta.url),
  (line) => !line.startsWith('  '),
);

/** The keys of a request by the names that its line has. */
type Keys = ReadonlyMap<string, string>;

interface Opened {
  service: TestService;
  port: number;
  flags: string[];
  setNow: (now: Date) => void;
  keys: Promise<Keys> | undefined;
  /** That of the last response with one. */
  etag: string;
  /** Whether the next heading can use it too. */
  isFresh: boolean;
}

async function open(storage: TestStorage, flags: string[]): Promise<Opened> {
  let now = START;
  const port = await freePort();
  const service = await startTestService(storage, {
    flags: ['--port', String(port), ...flags],
    clock: { now: () => now, elapsedMs: () => now.getTime() },
    newRequestId: () => REQUEST_ID,
  });
  const setNow = (moment: Date) => {
    now = moment;
  };
  return { service, port, flags, setNow, keys: undefined, etag: '', isFresh: flags.length === 0 };
}

function stored(secret: string, more: Partial<ApiKey>): ApiKey {
  return { ...newApiKey({ secret, name: 'recorded', now: START, randomBytes }), ...more };
}

const secretOf = (byte: number, environment: Environment = 'production') =>
  newSecret(environment, () => new Uint8Array(30).fill(byte));

/** All with one connection to the store. */
async function makeKeys({ key, flags }: TestService): Promise<Keys> {
  const store = await openConfiguredStore(loadConfig(flagsOf(flags), {}));
  const [first] = await store.listApiKeys();
  const made: [name: string, more: Partial<ApiKey>][] = [
    ['READ', { scopes: ['pets:read'] }],
    ['WRITE', { scopes: ['pets:write'] }],
    ['BEFORE', { scopes: ['pets:read', 'pets:write'] }],
    ['SUCCESSOR', { firstKeyId: first?.id ?? '' }],
    ['REVOKED', { revokedAt: new Date(0) }],
    ['REVOKED AHEAD', { revokedAt: new Date('2099-01-01') }],
    ['EXPIRING', { expiresAt: new Date(START.getTime() + 1) }],
  ];
  const secrets = made.map(([name], index): [string, string] => [name, secretOf(index + 1)]);
  for (const [index, [, secret]] of secrets.entries()) {
    await store.createApiKey(stored(secret, made[index]?.[1] ?? {}));
  }
  await store.close();
  const wrong = key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
  return new Map([
    ['KEY', key],
    ['WRONG', wrong],
    ['UNKNOWN', secretOf(0)],
    ['STAGING', secretOf(0, 'staging')],
    ...secrets,
  ]);
}

/** `{x*70}` is repeated, `{BYTE:ff}` a byte, `{KEY}` a key, `{ETAG}` that of the last response with one. */
async function expand(text: string, opened: Opened): Promise<Buffer> {
  let full = text
    .replaceAll('{LF}', '\n')
    .replaceAll('{BOM}', '\uFEFF')
    .replaceAll('{ETAG}', opened.etag);
  if (/\{[A-Z ]+\}/.test(full)) {
    const keys = await (opened.keys ??= makeKeys(opened.service));
    for (const [name, key] of keys) full = full.replaceAll(`{${name}}`, key);
  }
  full = full.replaceAll(/\{([^{}*]+)\*(\d+)\}/gu, (_, unit: string, count: string) =>
    unit.repeat(Number(count)),
  );
  const parts = full.split(/\{BYTE:(..)\}/);
  return Buffer.concat(parts.map((part, at) => Buffer.from(part, at % 2 === 1 ? 'hex' : 'utf8')));
}

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer | undefined;
}

/** `METHOD /path | Name: value | body`, with a path below /v1, or behind `^` that of any page. */
async function parseRequest(line: string, opened: Opened): Promise<Sent> {
  const parts = line.replace(/ \|$/, ' | ').split(' | ');
  const [first = '', ...rest] = await Promise.all(parts.map((part) => expand(part, opened)));
  const [method = '', target = ''] = first.toString('latin1').split(/ (.*)/);
  const headers: Sent['headers'] = { authorization: `Bearer ${opened.service.key}` };
  let body: Buffer | undefined;
  const given = new Set<string>();
  for (const part of rest) {
    const [, sentName = '', value = ''] =
      /^([A-Z][\w-]+): ?([^]*)$/.exec(part.toString('latin1')) ?? [];
    const name = sentName.toLowerCase();
    if (name === '') body = part;
    else if (value === '') delete headers[name];
    else headers[name] = given.has(name) ? [headers[name] ?? [], value].flat() : value;
    given.add(name);
  }
  const path = target.startsWith('^') ? target.slice(1) : `/v1${target}`;
  return { method, path, headers, body };
}

async function send(line: string, opened: Opened): Promise<string[]> {
  const { port } = opened;
  const { method, path, headers, body } = await parseRequest(line, opened);
  const keys = (await opened.keys) ?? new Map<string, string>();
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        opened.etag = response.headers.etag ?? opened.etag;
        if (response.statusCode === 201 || path.includes('/import')) opened.isFresh = false;
        const lines = responseLines(Number(response.statusCode), response.headers, text);
        resolve(lines.map((each) => readable(each, keys)));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A key gets its name, should one be in a response, and a long text is shown as it is sent: `{x*70}`. */
function readable(line: string, keys: Keys): string {
  let plain = line;
  for (const [name, key] of keys) plain = plain.replaceAll(key, `{${name}}`);
  const short = plain.replaceAll(
    /(.)\1{49,}/gu,
    (all, unit: string) => `{${unit}*${all.length / unit.length}}`,
  );
  return `  ${short}`;
}

/** The tests of all headings, or of those that do not contain `leftOut`. Only one of the stores may record. */
export function recordedRequests(
  storage: TestStorage,
  { mayRecord = false, leftOut = '' } = {},
): void {
  let opened: Opened | undefined;
  after(() => opened?.service.close());

  /** The service that is open if it will do, otherwise another one. */
  async function reopen(flags: string[]): Promise<Opened> {
    if (opened?.isFresh === true && flags.length === 0) return opened;
    await opened?.service.close();
    opened = await open(storage, flags);
    return opened;
  }

  const isLeftOut = (line: string) => leftOut !== '' && line.includes(leftOut);
  for (const block of recording.blocks.filter(({ lines }) => !lines.some(isLeftOut))) {
    test(block.title, async () => {
      const found: string[] = [];
      const [firstLine = '', ...lines] = recording.sentIn(block);
      const begins = firstLine.startsWith('= service ');
      let current = begins ? undefined : await reopen([]);
      for (const line of [firstLine, ...lines]) {
        found.push(line);
        if (line.startsWith('= service ')) {
          current = await reopen(line.slice('= service '.length).split(' '));
        } else if (current !== undefined && line.startsWith('= now ')) {
          current.isFresh = false;
          current.setNow(new Date(line.slice('= now '.length)));
        } else if (current !== undefined) {
          found.push(...(await send(line, current)));
        }
      }
      recording.check(block, found, { mayRecord });
    });
  }
}

import { randomBytes } from 'node:crypto';
import { parseArguments, UsageError, type Config } from '../config.ts';
import {
  KEY_NAME_LENGTH_MAX,
  newApiKey,
  newSecret,
  SCOPES,
  stateOfKey,
  type ApiKey,
  type Scope,
} from '../domain/api-key.ts';
import type { Store } from '../domain/store.ts';
import type { Io } from './command.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { printable, renderTable } from './terminal.ts';

const DEFAULT_OVERLAP = '24h';
const DURATION_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION_MAX_MS = 3_650 * DURATION_MS.d;

const OPTIONS = {
  ...STORE_OPTIONS,
  name: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  overlap: { type: 'string' },
} as const;

type Flags = Partial<Record<keyof typeof OPTIONS, string>>;

interface KeysCall {
  id: string | undefined;
  flags: Flags;
  config: Config;
  store: Store;
  io: Io;
}

const verbs: Record<string, (call: KeysCall) => Promise<number>> = { create, list, revoke, rotate };

/** Creates, lists, revokes and rotates API keys, whether or not the service is running. */
export async function keys(args: string[], io: Io): Promise<number> {
  const { values: flags, positionals } = parseArguments({
    args,
    options: OPTIONS,
    allowPositionals: true,
  });
  const [verb = '', id, ...rest] = positionals;
  const perform = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (perform === undefined || rest.length > 0) {
    throw new UsageError(
      `keys needs one of create, list, revoke ID, rotate ID; got "${positionals.join(' ')}".`,
    );
  }
  const mustExist = perform !== create;
  const { config, store } = await openStoreByFlags(flags, io.env, { mustExist });
  try {
    return await perform({ id, flags, config, store, io });
  } finally {
    await store.close();
  }
}

async function create({ flags, config, store, io }: KeysCall): Promise<number> {
  const name = flags.name ?? '';
  if (name === '' || name.length > KEY_NAME_LENGTH_MAX) {
    throw new UsageError(`keys create needs --name with 1 to ${KEY_NAME_LENGTH_MAX} characters.`);
  }
  const now = new Date();
  const { secret, record } = newApiKey({
    secret: newSecret(config.environment, randomBytes),
    name,
    scopes: parseScopes(flags.scopes ?? SCOPES.join(',')),
    expiresAt:
      flags.expires === undefined ? undefined : addDuration(now, '--expires', flags.expires),
    now,
    randomBytes,
  });
  await store.createApiKey(record);
  io.stderr.write(
    `Created ${record.id} (${printable(name)}) for ${config.environment}; the key is shown only once:\n`,
  );
  io.stdout.write(`${secret}\n`);
  return 0;
}

async function list({ store, io }: KeysCall): Promise<number> {
  const now = new Date();
  const rows = [
    ['ID', 'NAME', 'STATE', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'],
    ...(await store.listApiKeys()).map((key) => [
      key.id,
      printable(key.name),
      stateOfKey(key, now),
      key.scopes.join(','),
      timeText(key.createdAt),
      timeText(key.expiresAt),
      timeText(key.lastUsedAt),
    ]),
  ];
  io.stdout.write(renderTable(rows));
  return 0;
}

async function revoke({ id, store, io }: KeysCall): Promise<number> {
  const key = await findKey(store, id);
  await store.revokeApiKey(key.id, new Date());
  io.stderr.write(
    `Revoked ${key.id} (${printable(key.name)}); every process refuses it within 5 seconds.\n`,
  );
  return 0;
}

async function rotate({ id, flags, config, store, io }: KeysCall): Promise<number> {
  const key = await findKey(store, id);
  const now = new Date();
  if (stateOfKey(key, now) !== 'active') {
    throw new UsageError(
      `${key.id} is ${stateOfKey(key, now)} and cannot be rotated; create a new key instead.`,
    );
  }
  const endsAt = addDuration(now, '--overlap', flags.overlap ?? DEFAULT_OVERLAP);
  const { secret, record } = newApiKey({
    secret: newSecret(config.environment, randomBytes),
    name: key.name,
    scopes: key.scopes,
    expiresAt: key.expiresAt,
    now,
    randomBytes,
  });
  await store.rotateApiKey(key.id, endsAt, record);
  io.stderr.write(
    `Created ${record.id} in place of ${key.id}, which expires at ${endsAt.toISOString()}; the new key is shown only once:\n`,
  );
  io.stdout.write(`${secret}\n`);
  return 0;
}

async function findKey(store: Store, id: string | undefined): Promise<ApiKey> {
  const key = (await store.listApiKeys()).find((each) => each.id === id);
  if (key !== undefined) return key;
  throw new UsageError(
    id === undefined
      ? 'the id of a key is missing; petstore keys list shows them.'
      : `there is no key "${id}"; petstore keys list shows them.`,
  );
}

function parseScopes(text: string): Scope[] {
  const wanted = text.split(',').map((scope) => scope.trim());
  const known = SCOPES.filter((scope) => wanted.includes(scope));
  if (known.length > 0 && wanted.every((scope) => known.some((each) => each === scope)))
    return known;
  throw new UsageError(`--scopes is "${text}": it must be one or both of ${SCOPES.join(', ')}.`);
}

/** Adds a duration such as 90d or 24h to a date. */
function addDuration(from: Date, flag: string, text: string): Date {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const durationMs = Number(count) * (DURATION_MS[unit as keyof typeof DURATION_MS] ?? 0);
  if (unit !== '' && durationMs <= DURATION_MAX_MS) return new Date(from.getTime() + durationMs);
  throw new UsageError(
    `${flag} is "${text}": it must be a duration such as 90d, 24h, 30m or 45s, at most 3650d.`,
  );
}

function timeText(date: Date | undefined): string {
  return date === undefined ? '-' : `${date.toISOString().slice(0, 19)}Z`;
}

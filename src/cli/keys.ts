import { type Config } from '../config.ts';
import { UsageError, type Flags } from '../setting.ts';
import {
  KEY_NAME_LENGTH_MAX,
  newApiKey,
  newSecret,
  DEFAULT_SCOPES,
  SCOPES,
  stateOfKey,
  type ApiKey,
  type Scope,
} from '../domain/api-key.ts';
import type { KeyAdministration } from '../domain/store.ts';
import { defineCommand, type CommandGroup, type CommandIo } from './command.ts';
import { printable } from '../domain/printable.ts';
import { programName } from './program-name.ts';
import { CREATE_SWITCH, openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { renderTable } from './terminal.ts';

const DURATION_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION_MAX_MS = 3_650 * DURATION_MS.d;

const DURATION = {
  value: 'DURATION',
  parse: durationMsOrUndefined,
  mustBe: 'a duration such as 90d, 24h, 30m or 45s, at most 3650d',
};
const JSON_SWITCH = { json: 'write the key and its properties as JSON' };
const ID = { name: 'ID', description: 'the id of a key, as keys list shows it' };

const COLUMNS = [
  'ID',
  'STATE',
  'SCOPES',
  'CREATED',
  'EXPIRES',
  'LAST USED',
  'DEPRECATED CALL',
  'NAME',
];

const create = defineCommand({
  purpose: 'Create a key and write it to standard output, once',
  options: {
    name: {
      value: 'NAME',
      isRequired: true,
      description: 'a name by which you recognize the key',
      parse: (text: string) =>
        text !== '' && text.length <= KEY_NAME_LENGTH_MAX ? text : undefined,
      mustBe: `1 to ${KEY_NAME_LENGTH_MAX} characters`,
    },
    scopes: {
      value: 'SCOPE,…',
      default: DEFAULT_SCOPES.join(','),
      description: 'what the key may do; pets:manage changes and removes animals in the console',
      parse: scopesOrUndefined,
      mustBe: `one or more of ${SCOPES.join(', ')}, separated by commas`,
    },
    expires: { ...DURATION, defaultText: 'never', description: 'when the key ends' },
    ...STORE_OPTIONS,
  },
  switches: { ...JSON_SWITCH, ...CREATE_SWITCH },
  examples: [
    'keys create --name shop',
    'keys create --name shop --scopes pets:read --expires 90d --json',
  ],
  action: ({ options: { name, scopes, expires }, switches, flags, io }) =>
    withStore(flags, io, { create: switches.create }, async (store, { environment, place }) => {
      const now = io.clock.now();
      const secret = newSecret(environment, io.randomBytes);
      const record = newApiKey({
        secret,
        name,
        scopes,
        expiresAt: expires === undefined ? undefined : new Date(now.getTime() + expires),
        now,
        randomBytes: io.randomBytes,
      });
      await store.createApiKey(record);
      io.stderr.write(
        `Created ${record.id} (${printable(name)}) for ${environment} in ${place}; the key is shown only once:\n`,
      );
      io.stdout.write(`${switches.json ? keyJson(record, now, { key: secret }) : secret}\n`);
    }),
});

const list = defineCommand({
  purpose: 'List all keys, without their secrets',
  options: STORE_OPTIONS,
  switches: { json: 'write one key per line as JSON' },
  notes: `Every process of the service stores when a key was last used, and when it last called the
deprecated GET /v1/pets/{petId}, after at most 30 seconds. The list is for people; programs read
--json, which has exact times.`,
  examples: ['keys list', 'keys list --json'],
  action: ({ switches, flags, io }) =>
    withStore(flags, io, {}, async (store, { place }) => {
      const now = io.clock.now();
      const found = await store.listApiKeys();
      const result = `${found.length} key${found.length === 1 ? '' : 's'} in ${place}.\n`;
      if (switches.json) {
        for (const key of found) io.stdout.write(`${keyJson(key, now)}\n`);
        return result;
      }
      const rows = found.map((key) => [
        key.id,
        stateOfKey(key, now),
        key.scopes.join(','),
        ...[key.createdAt, key.expiresAt, key.lastUsedAt, key.lastDeprecatedCallAt].map(timeText),
        printable(key.name),
      ]);
      if (rows.length > 0) io.stdout.write(renderTable([COLUMNS, ...rows]));
      return result;
    }),
});

const revoke = defineCommand({
  purpose: 'End a key now',
  arguments: [ID],
  options: STORE_OPTIONS,
  notes: 'Every process of the service refuses the key within 5 seconds.',
  examples: ['keys revoke key_4fR9sT0aBc', 'keys revoke key_4fR9sT0aBc --env staging'],
  action: ({ arguments: [id = ''], flags, io }) =>
    withStore(flags, io, {}, async (store, { place }) => {
      const key = await findKey(store, id);
      await store.revokeApiKey(key.id, io.clock.now());
      io.stderr.write(
        `Revoked ${key.id} (${printable(key.name)}) in ${place}; every process refuses it within 5 seconds.\n`,
      );
    }),
});

const rotate = defineCommand({
  purpose: 'Create a key in place of another, which ends after an overlap',
  arguments: [ID],
  options: {
    overlap: { ...DURATION, default: '24h', description: 'how long the old key stays valid' },
    ...STORE_OPTIONS,
  },
  switches: JSON_SWITCH,
  examples: ['keys rotate key_4fR9sT0aBc', 'keys rotate key_4fR9sT0aBc --overlap 1h --json'],
  action: ({ arguments: [id = ''], options, switches, flags, io }) =>
    withStore(flags, io, {}, async (store, { environment, place }) => {
      const key = await findKey(store, id);
      // Later than the key it replaces, even if another machine created that key and its clock is ahead.
      const now = new Date(Math.max(io.clock.now().getTime(), key.createdAt.getTime() + 1));
      const endsAt = new Date(now.getTime() + options.overlap);
      const secret = newSecret(environment, io.randomBytes);
      const record = newApiKey({ ...key, secret, now, randomBytes: io.randomBytes });
      if (!(await store.rotateApiKey(key.id, endsAt, record))) {
        const state = stateOfKey(await findKey(store, id), now);
        throw new UsageError(
          state === 'active'
            ? `${key.id} has a successor already and cannot be rotated again; rotate that one, or create a new key.`
            : `${key.id} is ${state} and cannot be rotated; create a new key instead.`,
        );
      }
      io.stderr.write(
        `Created ${record.id} in ${place} instead of ${key.id}, which expires at ${endsAt.toISOString()}; the new key is shown only once:\n`,
      );
      io.stdout.write(`${switches.json ? keyJson(record, now, { key: secret }) : secret}\n`);
    }),
});

export const keys: CommandGroup = {
  purpose: 'Create, list, revoke and rotate API keys, whether or not the service runs',
  commands: { create, list, revoke, rotate },
};

/** `work` may return a message, which is printed after its output. */
async function withStore(
  flags: Flags,
  io: CommandIo,
  options: { create?: boolean },
  work: (
    store: KeyAdministration,
    where: Pick<Config, 'environment'> & { place: string },
  ) => Promise<string | void>,
): Promise<number> {
  const { config, name, store } = await openStoreByFlags(flags, io, options);
  let result: string | void;
  try {
    result = await work(store, { environment: config.environment, place: name });
  } finally {
    await store.close();
  }
  if (result !== undefined) io.stderr.write(result);
  return 0;
}

async function findKey(store: KeyAdministration, id: string): Promise<ApiKey> {
  const key = (await store.listApiKeys()).find((each) => each.id === id);
  if (key !== undefined) return key;
  throw new UsageError(`there is no key "${id}"; ${programName()} keys list shows them.`);
}

function scopesOrUndefined(text: string): Scope[] | undefined {
  const wanted = text.split(',').map((scope) => scope.trim());
  const known = SCOPES.filter((scope) => wanted.includes(scope));
  return wanted.every((scope) => known.some((each) => each === scope)) ? known : undefined;
}

function durationMsOrUndefined(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const durationMs = Number(count) * (DURATION_MS[unit as keyof typeof DURATION_MS] ?? Number.NaN);
  return durationMs <= DURATION_MAX_MS ? durationMs : undefined;
}

/** A time to the minute. */
function timeText(date: Date | undefined): string {
  return date === undefined ? '-' : `${date.toISOString().slice(0, 'YYYY-MM-DDThh:mm'.length)}Z`;
}

function keyJson(key: ApiKey, now: Date, secret: { key?: string } = {}): string {
  const { id, firstKeyId, name, scopes, createdAt, expiresAt = null, lastUsedAt = null } = key;
  const { revokedAt = null, lastDeprecatedCallAt = null } = key;
  const times = { createdAt, expiresAt, lastUsedAt, revokedAt, lastDeprecatedCallAt };
  const state = stateOfKey(key, now);
  return printable(JSON.stringify({ ...secret, id, firstKeyId, name, state, scopes, ...times }));
}

// The tables that both stores have: their columns, and what a row of each means.

import type { ApiKey, Scope } from '../domain/api-key.ts';
import type { NewPet, Pet } from '../domain/pet.ts';
import type { DeprecatedCalls, ImportProgress } from '../domain/store.ts';

// Rows are arrays in the order of these columns: one object per row would cost more than reading the row.

export const PET_COLUMNS = 'id, name, category_id, status';

export type PetRow = [id: bigint, name: string, categoryId: bigint, status: Pet['status']];

export function petOfRow([id, name, categoryId, status]: PetRow): Pet {
  return { id, name, categoryId, status };
}

/** Many animals as one JSON text: it reaches the writer thread and SQLite faster than many rows do. */
export function rowsAsJson(pets: readonly NewPet[]): string {
  const rows = pets.map(
    ({ name, categoryId, status }) => `[${JSON.stringify(name)},${categoryId},"${status}"]`,
  );
  return `[${rows.join(',')}]`;
}

export const IMPORT_COLUMNS = 'source, position, lines, imported, skipped';

export type ImportRow = [
  source: string,
  position: bigint,
  lines: bigint,
  imported: bigint,
  skipped: bigint,
];

export function importOfRow([source, ...counts]: ImportRow): ImportProgress {
  const [position = 0, lines = 0, imported = 0, skipped = 0] = counts.map(Number);
  return { source, position, lines, imported, skipped };
}

export const API_KEY_COLUMNS =
  'id, hash, name, scopes, created_at, expires_at, revoked_at, last_used_at';

type Time = bigint | null;

export type ApiKeyRow = [
  id: string,
  hash: string,
  name: string,
  scopes: string,
  createdAt: bigint,
  expiresAt: Time,
  revokedAt: Time,
  lastUsedAt: Time,
];

export function apiKeyOfRow(row: ApiKeyRow): ApiKey {
  const [id, hash, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt] = row;
  return {
    id,
    hash,
    name,
    scopes: scopes.split(' ') as Scope[],
    createdAt: new Date(Number(createdAt)),
    expiresAt: dateOf(expiresAt),
    revokedAt: dateOf(revokedAt),
    lastUsedAt: dateOf(lastUsedAt),
  };
}

export function rowOfApiKey(key: ApiKey): (string | number | null)[] {
  return [
    key.id,
    key.hash,
    key.name,
    key.scopes.join(' '),
    key.createdAt.getTime(),
    key.expiresAt?.getTime() ?? null,
    key.revokedAt?.getTime() ?? null,
    key.lastUsedAt?.getTime() ?? null,
  ];
}

export const CLAIM_COLUMNS = 'api_key_id, key, fingerprint, pet_id, expires_at';

/** How many expired claims are removed for each new one, so that their number falls as fast as it grew. */
export const EXPIRED_CLAIMS_REMOVED_MAX = 2;

export const DEPRECATED_CALL_COLUMNS = 'api_key_id, day, calls, last_at';

/** Older days are in no list. */
export const DEPRECATED_CALL_DAYS_MAX = 90;

const DAY_MS = 86_400_000;

/** The number of days since 1970-01-01, in UTC. */
export function dayOf(date: Date): number {
  return Math.floor(date.getTime() / DAY_MS);
}

/** The statement for `listDeprecatedCalls`. Its only parameter is today. */
export function selectDeprecatedCalls(today: '?1' | '$1::bigint'): string {
  const sums = [7, 30, DEPRECATED_CALL_DAYS_MAX].map(
    (days) => `CAST(coalesce(sum(calls) FILTER (WHERE day > ${today} - ${days}), 0) AS bigint)`,
  );
  return `SELECT api_key_id, ${sums.join(', ')}, max(last_at) FROM deprecated_calls
          GROUP BY api_key_id ORDER BY max(last_at) DESC, api_key_id`;
}

export type DeprecatedCallsRow = [
  apiKeyId: string,
  last7Days: bigint,
  last30Days: bigint,
  last90Days: bigint,
  lastAt: bigint,
];

export function deprecatedCallsOfRow([apiKeyId, ...numbers]: DeprecatedCallsRow): DeprecatedCalls {
  const [last7Days = 0, last30Days = 0, last90Days = 0, lastAt = 0] = numbers.map(Number);
  return { apiKeyId, last7Days, last30Days, last90Days, lastAt: new Date(lastAt) };
}

function dateOf(time: Time): Date | undefined {
  return time === null ? undefined : new Date(Number(time));
}

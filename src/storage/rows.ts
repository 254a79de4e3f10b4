// The tables that both stores have: their columns, and what a row of each means.

import type { ApiKey, Scope } from '../domain/api-key.ts';
import { INT64_MAX } from '../domain/int64.ts';
import type { Environment } from '../domain/key-form.ts';
import type { NewPet, Pet } from '../domain/pet.ts';
import { StoreFault, type ImportProgress } from '../domain/store.ts';
import type { StoreIdentity } from '../domain/store-identity.ts';

// Rows are arrays in the order of these columns: one object per row would cost more than reading the row.

export const PET_COLUMNS = 'id, name, category_id, status';

export type PetRow = [id: bigint, name: string, categoryId: bigint, status: Pet['status']];

export function petOfRow([id, name, categoryId, status]: PetRow): Pet {
  return { id, name, categoryId, status };
}

/** The last id must be at most this one: an animal that somebody has inserted by hand could leave no ids for others. */
export const LAST_ID_MAX = INT64_MAX - 1_000_000n;

/** Many animals as one JSON text: it reaches the writer thread and SQLite faster than many rows do. */
export function rowsAsJson(pets: readonly NewPet[]): string {
  return `[${pets.map(rowAsJson).join(',')}]`;
}

export function rowAsJson({ name, categoryId, status }: NewPet): string {
  return `[${JSON.stringify(name)},${categoryId},"${status}"]`;
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
  'id, first_key_id, hash, name, scopes, created_at, expires_at, revoked_at, last_used_at, last_deprecated_call_at';

export type ApiKeyRow = [
  id: string,
  /** NULL where the key is the first one itself. */
  firstKeyId: string | null,
  hash: string,
  name: string,
  scopes: string,
  createdAt: bigint,
  /** The columns after `created_at`. */
  ...times: (bigint | null)[],
];

export function apiKeyOfRow(row: ApiKeyRow): ApiKey {
  const [id, firstKeyId, hash, name, scopes, createdAt, ...times] = row;
  const [expiresAt, revokedAt, lastUsedAt, lastDeprecatedCallAt] = times.map(dateOf);
  return {
    id,
    firstKeyId: firstKeyId ?? id,
    hash,
    name,
    scopes: scopes.split(' ') as Scope[],
    createdAt: new Date(Number(createdAt)),
    expiresAt,
    revokedAt,
    lastUsedAt,
    lastDeprecatedCallAt,
  };
}

export function rowOfApiKey(key: ApiKey): (string | number | null)[] {
  return [
    key.id,
    key.firstKeyId === key.id ? null : key.firstKeyId,
    key.hash,
    key.name,
    key.scopes.join(' '),
    key.createdAt.getTime(),
    ...[key.expiresAt, key.revokedAt, key.lastUsedAt, key.lastDeprecatedCallAt].map(
      (date) => date?.getTime() ?? null,
    ),
  ];
}

/** The condition for a row of api_keys that may be rotated: a valid key that has no successor. */
export const rotatableAt = (now: string) => `
  revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now}) AND NOT EXISTS (
    SELECT 1 FROM api_keys AS later
    WHERE later.first_key_id = coalesce(api_keys.first_key_id, api_keys.id)
      AND later.created_at > api_keys.created_at)`;

export const CLAIM_COLUMNS = 'api_key_id, key, fingerprint, pet_id, expires_at';

/** How many expired claims are removed for each new one, so that their number falls as fast as it grew. */
export const EXPIRED_CLAIMS_REMOVED_MAX = 2;

export const IDENTITY_COLUMNS = 'store_id, environment, created_at';
export const SELECT_IDENTITY = `SELECT ${IDENTITY_COLUMNS} FROM store_identity`;

export type IdentityRow = [id: string, environment: Environment, createdAt: bigint];

export function identityOfRow(row: IdentityRow | undefined, store: string): StoreIdentity {
  if (row === undefined) {
    throw new StoreFault(
      `${store} does not say which store it is: move it away, and put a backup in its place.`,
    );
  }
  const [id, environment, createdAt] = row;
  return { id, environment, createdAt: new Date(Number(createdAt)) };
}

/** None of the values needs to be quoted. */
export function insertIdentity({ id, environment, createdAt }: StoreIdentity): string {
  return `INSERT INTO store_identity (${IDENTITY_COLUMNS})
          VALUES ('${id}', '${environment}', ${createdAt.getTime()})`;
}

function dateOf(time: bigint | null): Date | undefined {
  return time === null ? undefined : new Date(Number(time));
}

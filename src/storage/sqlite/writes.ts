import type { DatabaseSync } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation, ImportStep } from '../../domain/store.ts';
import {
  API_KEY_COLUMNS,
  IMPORT_COLUMNS,
  PET_COLUMNS,
  petOfRow,
  rowOfApiKey,
  type PetRow,
} from '../rows.ts';

/** Forgotten claims removed for each new one, so that their number falls as fast as it grew. */
const EXPIRED_CLAIMS_REMOVED_MAX = 2;

/** Everything that changes the file. Each function runs inside the transaction of its batch. */
export type Writes = ReturnType<typeof prepareWrites>;

export function prepareWrites(database: DatabaseSync) {
  const insertPet = database.prepare(
    `INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?) RETURNING ${PET_COLUMNS}`,
  );
  const insertApiKey = database.prepare(
    `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const anyApiKey = database.prepare('SELECT 1 FROM api_keys LIMIT 1');
  const revoke = database.prepare(
    'UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
  );
  const endApiKey = database.prepare(
    'UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE id = ?2',
  );
  const recordUse = database.prepare(
    'UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, ?1), ?1) WHERE id = ?2',
  );
  const claims = prepareClaims(database);

  function insert(pet: NewPet): Creation & { kind: 'created' } {
    const row = insertPet.get(pet.name, pet.categoryId, pet.status) as unknown as PetRow;
    return { kind: 'created', pet: petOfRow(row) };
  }

  return {
    createPet(pet: NewPet, claim: IdempotencyClaim | undefined): Creation {
      if (claim === undefined) return insert(pet);
      const earlier = claims.find(claim);
      if (earlier !== undefined) return earlier;
      const creation = insert(pet);
      claims.record(claim, creation.pet.id);
      return creation;
    },
    importPets: prepareImport(database),
    createApiKey(key: ApiKey): void {
      insertApiKey.run(...rowOfApiKey(key));
    },
    createFirstApiKey(key: ApiKey): boolean {
      if (anyApiKey.get() !== undefined) return false;
      insertApiKey.run(...rowOfApiKey(key));
      return true;
    },
    revokeApiKey(id: string, revokedAt: Date): boolean {
      return revoke.run(revokedAt.getTime(), id).changes === 1n;
    },
    rotateApiKey(id: string, endsAt: Date, successor: ApiKey): boolean {
      if (endApiKey.run(endsAt.getTime(), id).changes !== 1n) return false;
      insertApiKey.run(...rowOfApiKey(successor));
      return true;
    },
    recordKeyUse(lastUsedAt: ReadonlyMap<string, Date>): void {
      for (const [id, at] of lastUsedAt) recordUse.run(at.getTime(), id);
    },
  };
}

function prepareImport(database: DatabaseSync) {
  const insertPets = database.prepare(
    `INSERT INTO pets (name, category_id, status)
     SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) ORDER BY key`,
  );
  const moveImport = database.prepare(
    `INSERT INTO imports (${IMPORT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (source) DO UPDATE SET
       position = excluded.position, lines = excluded.lines,
       imported = excluded.imported, skipped = excluded.skipped
     WHERE position = ?6`,
  );

  return (rows: string, step: ImportStep | undefined): boolean => {
    if (step !== undefined) {
      const { source, position, lines, imported, skipped } = step.to;
      const moved = moveImport.run(source, position, lines, imported, skipped, step.from);
      if (moved.changes !== 1n) return false;
    }
    insertPets.run(rows);
    return true;
  };
}

function prepareClaims(database: DatabaseSync) {
  const find = database.prepare(
    `SELECT claim.fingerprint, ${PET_COLUMNS.split(', ')
      .map((column) => `pets.${column}`)
      .join(', ')}
     FROM idempotency_keys AS claim JOIN pets ON pets.id = claim.pet_id
     WHERE claim.api_key_id = ? AND claim.key = ? AND claim.expires_at > ?`,
  );
  // A claim under the same key can only be an expired one: `find` saw no other.
  const insert = database.prepare(
    `INSERT OR REPLACE INTO idempotency_keys (api_key_id, key, fingerprint, pet_id, expires_at)
     VALUES (?, ?, ?, ?, ?)`,
  );
  const removeExpired = database.prepare(
    `DELETE FROM idempotency_keys WHERE (api_key_id, key) IN (
       SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= ?
       ORDER BY expires_at LIMIT ${EXPIRED_CLAIMS_REMOVED_MAX})`,
  );

  return {
    find(claim: IdempotencyClaim): Creation | undefined {
      const found = find.get(claim.apiKeyId, claim.key, claim.now.getTime());
      if (found === undefined) return undefined;
      const [fingerprint, ...pet] = found as unknown as [string, ...PetRow];
      if (fingerprint !== claim.fingerprint) return { kind: 'claim_conflict' };
      return { kind: 'replayed', pet: petOfRow(pet) };
    },
    record(claim: IdempotencyClaim, petId: bigint): void {
      removeExpired.run(claim.now.getTime());
      const { apiKeyId, key, fingerprint, expiresAt } = claim;
      insert.run(apiKeyId, key, fingerprint, petId, expiresAt.getTime());
    },
  };
}

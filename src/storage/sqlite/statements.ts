import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ApiKey } from '../../domain/api-key.ts';
import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet, Pet } from '../../domain/pet.ts';
import type { Creation, ImportStep, KeyUse, PetChange, PetConflict } from '../../domain/store.ts';
import { conflictsIn } from '../pet-change.ts';
import { PET_COUNT_SQL } from '../pet-count.ts';
import {
  API_KEY_COLUMNS,
  CLAIM_COLUMNS,
  EXPIRED_CLAIMS_REMOVED_MAX,
  IMPORT_COLUMNS,
  PET_COLUMNS,
  petOfRow,
  rotatableAt,
  rowOfApiKey,
  type PetRow,
} from '../rows.ts';

/** The highest id that was ever assigned, or inserted by hand. */
export const LAST_ID = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pets'), 0)";

/** Begins a transaction. It is rolled back at the end of the caller's block unless it was committed. */
export function beginTransaction(database: DatabaseSync): Disposable & { commit: () => void } {
  // IMMEDIATE takes the lock now: a lock that is taken later cannot be waited for.
  database.exec('BEGIN IMMEDIATE');
  return {
    commit: () => database.exec('COMMIT'),
    [Symbol.dispose]() {
      // SQLite rolls back by itself after some errors, a full disk among them.
      if (database.isTransaction) database.exec('ROLLBACK');
    },
  };
}

/**
 * When a plain parameter of LIMIT is bound, SQLite prepares the statement again, which costs a third as
 * much as the page. An expression avoids that.
 */
const LIMIT = 'LIMIT ?2 + 0';

export type PageRow = [json: string, continuesAtId: bigint | null];

/**
 * A page as one text, which SQLite returns faster than twenty rows, and where the walk goes on. The parameters are
 * the id, the limit and the status.
 */
function selectPage(direction: 'forward' | 'backward', filter = 'TRUE'): string {
  const isForward = direction === 'forward';
  // SQLite keeps the order of a subquery with LIMIT. Forward, a second ORDER BY would take back what one row saves.
  return `
    SELECT json, CASE WHEN EXISTS (
      SELECT 1 FROM pets WHERE ${filter} AND id ${isForward ? '>' : '<'} edge_id
    ) THEN edge_id END
    FROM (
      SELECT ${isForward ? 'max' : 'min'}(id) AS edge_id, json_group_array(
        json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status)
        ${isForward ? '' : 'ORDER BY id'}
      ) AS json
      FROM (
        SELECT ${PET_COLUMNS} FROM pets WHERE ${filter} AND id ${isForward ? '>' : '<='} ?1
        ORDER BY id ${isForward ? 'ASC' : 'DESC'} ${LIMIT}))`;
}

/** Every statement that only reads. */
export type Reads = ReturnType<typeof prepareReads>;

export function prepareReads(database: DatabaseSync) {
  return {
    pet: database.prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`),
    page: database.prepare(selectPage('forward')),
    pageOfStatus: database.prepare(selectPage('forward', 'status = ?3')),
    pageBefore: database.prepare(selectPage('backward')),
    pageBeforeOfStatus: database.prepare(selectPage('backward', 'status = ?3')),
    import: database.prepare(`SELECT ${IMPORT_COLUMNS} FROM imports WHERE source = ?`),
    apiKeys: database.prepare(`SELECT ${API_KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`),
    petCount: database.prepare(PET_COUNT_SQL),
    commits: database.prepare('PRAGMA data_version'),
    petChanges: database.prepare('SELECT count FROM pet_changes'),
  };
}

/** Everything that changes the database. Each function runs inside the transaction of its batch. */
export type Writes = ReturnType<typeof prepareWrites>;

export function prepareWrites(database: DatabaseSync) {
  const insertPets = database.prepare(
    `INSERT INTO pets (name, category_id, status)
     SELECT value ->> 0, value ->> 1, value ->> 2 FROM jsonb_each(?) ORDER BY key`,
  );
  return {
    /** Returns the id of the last animal. The ids of one call follow each other. */
    createPets: (rows: string) => insertPets.run(rows).lastInsertRowid as bigint,
    createPetOnce: prepareCreateOnce(database),
    importPets: prepareImport(database, insertPets),
    ...prepareChanges(database),
    ...prepareKeyWrites(database),
  };
}

function prepareCreateOnce(database: DatabaseSync) {
  const insertPet = database.prepare(
    'INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)',
  );
  const findClaim = database.prepare(
    `SELECT fingerprint, pet_id FROM idempotency_keys
     WHERE api_key_id = ? AND key = ? AND expires_at > ?`,
  );
  // REPLACE: an expired claim may still be stored under the same key.
  const insertClaim = database.prepare(
    `INSERT OR REPLACE INTO idempotency_keys (${CLAIM_COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
  );
  const removeExpiredClaims = database.prepare(
    `DELETE FROM idempotency_keys WHERE (api_key_id, key) IN (
       SELECT api_key_id, key FROM idempotency_keys WHERE expires_at <= ?
       ORDER BY expires_at LIMIT ${EXPIRED_CLAIMS_REMOVED_MAX})`,
  );

  return (pet: NewPet, claim: IdempotencyClaim): Creation => {
    const { apiKeyId, key, fingerprint } = claim;
    const nowMs = claim.now.getTime();
    const found = findClaim.get(apiKeyId, key, nowMs) as unknown as [string, bigint] | undefined;
    if (found !== undefined) {
      const [knownFingerprint, id] = found;
      if (knownFingerprint !== fingerprint) return { kind: 'claim_conflict' };
      return { kind: 'replayed', pet: { id, ...pet } };
    }
    // RETURNING would build a temporary table, and take at least half as long again.
    const { lastInsertRowid } = insertPet.run(pet.name, pet.categoryId, pet.status);
    removeExpiredClaims.run(nowMs);
    insertClaim.run(apiKeyId, key, fingerprint, lastInsertRowid, claim.expiresAt.getTime());
    return { kind: 'created', pet: { id: lastInsertRowid as bigint, ...pet } };
  };
}

function prepareChanges(database: DatabaseSync) {
  const find = database.prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id = ?`);
  const update = database.prepare(
    'UPDATE pets SET name = ?, category_id = ?, status = ? WHERE id = ?',
  );
  const remove = database.prepare('DELETE FROM pets WHERE id = ?');

  function findPet(id: bigint): Pet | undefined {
    const row = find.get(id) as unknown as PetRow | undefined;
    return row && petOfRow(row);
  }

  return {
    changePets(changes: readonly PetChange[]): PetConflict[] {
      const conflicts = conflictsIn(changes, findPet);
      for (const { from, to } of conflicts.length === 0 ? changes : []) {
        if (to === undefined) remove.run(from.id);
        else update.run(to.name, to.categoryId, to.status, from.id);
      }
      return conflicts;
    },
  };
}

function prepareImport(database: DatabaseSync, insertPets: StatementSync) {
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

function prepareKeyWrites(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const findAny = database.prepare('SELECT 1 FROM api_keys LIMIT 1');
  const revoke = database.prepare(
    'UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
  );
  const expire = database.prepare(
    `UPDATE api_keys SET expires_at = min(coalesce(expires_at, ?1), ?1)
     WHERE id = ?2 AND ${rotatableAt('?3')}`,
  );
  const recordUse = database.prepare(
    `UPDATE api_keys SET
       last_used_at = max(coalesce(last_used_at, ?1), ?1),
       last_deprecated_call_at =
         max(coalesce(last_deprecated_call_at, ?2), coalesce(?2, last_deprecated_call_at))
     WHERE id = ?3`,
  );

  return {
    createApiKey(key: ApiKey): void {
      insert.run(...rowOfApiKey(key));
    },
    createFirstApiKey(key: ApiKey): boolean {
      if (findAny.get() !== undefined) return false;
      insert.run(...rowOfApiKey(key));
      return true;
    },
    revokeApiKey(id: string, revokedAt: Date): boolean {
      return revoke.run(revokedAt.getTime(), id).changes === 1n;
    },
    rotateApiKey(id: string, endsAt: Date, successor: ApiKey): boolean {
      const expired = expire.run(endsAt.getTime(), id, successor.createdAt.getTime());
      if (expired.changes !== 1n) return false;
      insert.run(...rowOfApiKey(successor));
      return true;
    },
    recordKeyUse(uses: ReadonlyMap<string, KeyUse>): void {
      for (const [id, { usedAt, deprecatedCallAt }] of uses) {
        recordUse.run(usedAt.getTime(), deprecatedCallAt?.getTime() ?? null, id);
      }
    },
  };
}

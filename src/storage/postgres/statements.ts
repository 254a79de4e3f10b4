import { PET_COUNT_SQL } from '../pet-count.ts';
import {
  API_KEY_COLUMNS,
  CLAIM_COLUMNS,
  EXPIRED_CLAIMS_REMOVED_MAX,
  IMPORT_COLUMNS,
  PET_COLUMNS,
  rotatableAt,
} from '../rows.ts';
import type { Statement } from './connection.ts';

/**
 * Searches the animals for each place of the arrays that are the parameters: one row per animal and place. Within
 * `search` their values are wanted.id, wanted.count and so on. Only an ORDER BY of the whole promises the order of its
 * rows.
 */
function searchEach(
  parameters: Readonly<Record<string, string>>,
  search: string,
  order: 'id' | 'id DESC' = 'id',
): string {
  const arrays = Object.values(parameters).map((type, index) => `$${index + 1}::${type}[]`);
  const names = Object.keys(parameters);
  return `
    SELECT found.*, place::int
    FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS wanted (${names.join(', ')}, place),
         LATERAL (SELECT ${PET_COLUMNS} FROM pets WHERE ${search}) AS found
    ORDER BY place, found.${order}`;
}

const INSERT_PETS = `
  INSERT INTO pets (${PET_COLUMNS})
  SELECT counter.before + ordinal, name, category_id, status
  FROM counter,
       unnest($1::text[], $2::bigint[], $3::text[])
         WITH ORDINALITY AS input (name, category_id, status, ordinal)`;

const NEW_KEY = '$1, $2, $3, $4, $5, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint';

/**
 * Each connection prepares a statement once, under its name here, and plans it once, perhaps while its tables are
 * empty. What was planned as a join would then read all of a table also when it has grown: ORDER BY says which index
 * to search, LATERAL with LIMIT makes a search for each row, and ctid needs none.
 */
export const STATEMENTS = named({
  /** Without ORDER BY, PostgreSQL may search pets_by_status. */
  findPets: `SELECT ${PET_COLUMNS} FROM pets WHERE id = ANY ($1::bigint[]) ORDER BY id`,
  listPets: searchEach(
    { id: 'bigint', count: 'bigint' },
    'id > wanted.id ORDER BY id LIMIT wanted.count',
  ),
  /**
   * A page of one status is the part of the index pets_by_status that begins at the status and the id. With
   * `status = wanted.status ... ORDER BY id`, PostgreSQL prefers to read the animals of every status in the order of
   * their ids, as if the statuses were mixed: where the old animals are sold and the new ones are not, the newest sold
   * ones would cost a read of all that were added since.
   */
  listPetsOfStatus: searchEach(
    { status: 'text', id: 'bigint', count: 'bigint' },
    `(status, id) > (wanted.status, wanted.id) AND status <= wanted.status
     ORDER BY status, id LIMIT wanted.count`,
  ),
  listLastPets: searchEach(
    { id: 'bigint', count: 'bigint' },
    'id <= wanted.id ORDER BY id DESC LIMIT wanted.count',
    'id DESC',
  ),
  listLastPetsOfStatus: searchEach(
    { status: 'text', id: 'bigint', count: 'bigint' },
    `(status, id) <= (wanted.status, wanted.id) AND status >= wanted.status
     ORDER BY status DESC, id DESC LIMIT wanted.count`,
    'id DESC',
  ),
  ping: 'SELECT last_id FROM pet_counter',
  petCount: PET_COUNT_SQL,
  /**
   * Locks the animals $1 in the order of their ids, so that two such statements cannot block each other, and returns
   * them as they were found. $2 and $3 are objects with the animals by id, as they were seen and as they are wanted: a
   * look into them needs no plan of a join. One that $3 does not have is removed.
   */
  changePets: `
    WITH found AS MATERIALIZED (
      SELECT ${PET_COLUMNS} FROM pets WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE
    ), free AS MATERIALIZED (
      SELECT count(*) = cardinality($1::bigint[]) AS are_all FROM found
      WHERE jsonb_build_array(name, category_id, status) IN ($2::jsonb -> id::text, $3::jsonb -> id::text)
    ), removed AS (
      DELETE FROM pets
      WHERE id = ANY ($1::bigint[]) AND NOT $3::jsonb ? id::text AND (SELECT are_all FROM free)
    ), changed AS (
      UPDATE pets SET name = $3::jsonb -> id::text ->> 0,
        category_id = ($3::jsonb -> id::text ->> 1)::bigint, status = $3::jsonb -> id::text ->> 2
      WHERE id = ANY ($1::bigint[]) AND $3::jsonb ? id::text AND (SELECT are_all FROM free)
    )
    SELECT ${PET_COLUMNS} FROM found`,
  mayChange: `
    SELECT has_table_privilege('pets', 'UPDATE') AND has_table_privilege('pets', 'DELETE')`,
  /**
   * Stores animals without claims: one statement, one transaction. Updating the only row of the counter locks
   * it until the commit, so that no process can commit a higher id first. A counter below $4 is that of a server
   * that has lost animals: nothing is stored, and no row returned.
   */
  createPets: `
    WITH counter AS (
      UPDATE pet_counter SET last_id = last_id + cardinality($1::text[])
      WHERE last_id >= $4::bigint
      RETURNING last_id - cardinality($1::text[]) AS before
    ), created AS (${INSERT_PETS})
    SELECT before FROM counter`,
  /** Above the animals that were inserted by hand, if the highest of them leaves ids: it is at most $1. */
  raiseCounter: `
    WITH highest AS (SELECT coalesce(max(id), 0) AS id FROM pets), raised AS (
      UPDATE pet_counter SET last_id = greatest(last_id, id) FROM highest WHERE id <= $1::bigint
      RETURNING last_id
    )
    SELECT id, (SELECT last_id FROM raised) FROM highest`,
  /**
   * Stores animals together with the progress of their import, as createPets does. Returns NULL if the stored
   * position is no longer $9: then nothing is stored.
   */
  importPets: `
    WITH locked AS MATERIALIZED (
      SELECT FROM pet_counter WHERE last_id >= $10::bigint FOR UPDATE
    ), moved AS (
      INSERT INTO imports AS note (${IMPORT_COLUMNS})
      SELECT $4, $5::bigint, $6::bigint, $7::bigint, $8::bigint FROM locked
      ON CONFLICT (source) DO UPDATE
        SET position = excluded.position, lines = excluded.lines,
            imported = excluded.imported, skipped = excluded.skipped
        WHERE note.position = $9::bigint
      RETURNING 1
    ), counter AS (
      UPDATE pet_counter SET last_id = last_id + cardinality($1::text[])
      WHERE EXISTS (SELECT FROM moved)
      RETURNING last_id - cardinality($1::text[]) AS before
    ), created AS (${INSERT_PETS})
    SELECT (SELECT before FROM counter) FROM locked`,
  /**
   * The row lock makes this a transaction that writes, so its commit waits for the standby. Without it, a
   * read could report an import as finished whose own commit never reached the standby.
   */
  findImport: `SELECT ${IMPORT_COLUMNS} FROM imports WHERE source = $1 FOR UPDATE`,
  /**
   * Stores animals, some of them with claims; no claim occurs twice in the batch. Returns the id for each
   * place in the batch, and for a claim that was stored before its fingerprint. A missing place has a claim
   * that another process committed after this statement took its snapshot: the primary key refuses the second
   * claim, which leaves a gap in the ids, and sending it again finds the first. Place 0 is always returned, unless
   * the counter is below $9, as in createPets.
   *
   * The counter is updated even when there is nothing to store: only a transaction that writes waits for the
   * disk and the standby when it commits, and a replay acknowledges an animal just as a create does. It also
   * bounds the replays that wait for an absent standby: the others wait for the lock of the first, and
   * statement_timeout ends that wait.
   */
  createPetsWithClaims: `
    WITH input AS MATERIALIZED ( -- 1. the batch
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[],
                           $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
        WITH ORDINALITY AS input (name, category_id, status,
                                  api_key_id, key, fingerprint, now, expires_at, ordinal)
    ), known AS MATERIALIZED ( -- 2. what was stored before: a replay
      SELECT input.ordinal, claim.fingerprint, claim.pet_id
      FROM input, LATERAL (
        SELECT fingerprint, pet_id, expires_at FROM idempotency_keys AS claim
        WHERE claim.api_key_id = input.api_key_id AND claim.key = input.key
        LIMIT 1) AS claim
      WHERE claim.expires_at > input.now
    ), fresh AS MATERIALIZED ( -- 3. the rest
      SELECT input.*, row_number() OVER (ORDER BY ordinal) AS place FROM input
      WHERE ordinal NOT IN (SELECT ordinal FROM known)
    ), counter AS ( -- 4. an id for each of the rest
      UPDATE pet_counter SET last_id = last_id + (SELECT count(*) FROM fresh)
      WHERE last_id >= $9::bigint
      RETURNING last_id - (SELECT count(*) FROM fresh) AS before
    ), numbered AS MATERIALIZED ( -- 5. the rest with their ids
      SELECT fresh.*, counter.before + fresh.place AS id FROM counter, fresh
    ), claimed AS ( -- 6. their claims, unless another process was first
      INSERT INTO idempotency_keys AS claim (${CLAIM_COLUMNS})
      SELECT api_key_id, key, fingerprint, id, expires_at FROM numbered WHERE key IS NOT NULL
      ON CONFLICT (api_key_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, pet_id = excluded.pet_id,
            expires_at = excluded.expires_at
        WHERE claim.expires_at <= (
          SELECT input.now FROM input
          WHERE input.api_key_id = excluded.api_key_id AND input.key = excluded.key)
      RETURNING pet_id
    ), created AS ( -- 7. those without a claim or with a new one
      INSERT INTO pets (${PET_COLUMNS})
      SELECT id, name, category_id, status FROM numbered
      WHERE key IS NULL OR id IN (SELECT pet_id FROM claimed)
      RETURNING id
    ), forgotten AS ( -- 8. a few claims that have expired
      DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
        SELECT claim.ctid FROM idempotency_keys AS claim
        WHERE claim.expires_at <= (SELECT min(now) FROM input)
          AND NOT EXISTS (SELECT FROM input
                          WHERE input.api_key_id = claim.api_key_id AND input.key = claim.key)
        ORDER BY claim.expires_at
        LIMIT ${EXPIRED_CLAIMS_REMOVED_MAX} * cardinality($1::text[])
        FOR UPDATE SKIP LOCKED))
    )
    SELECT 0 AS ordinal, NULL AS known_fingerprint, before AS id FROM counter
    UNION ALL
    SELECT ordinal, NULL, id FROM created JOIN numbered USING (id)
    UNION ALL
    SELECT ordinal, fingerprint, pet_id FROM known, counter`,
  createApiKey: `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (${NEW_KEY})`,
  /** Of several processes that create the first key or rotate a key at once, all but one wait for this lock. */
  lockCounter: 'SELECT last_id FROM pet_counter FOR UPDATE',
  createFirstApiKey: `INSERT INTO api_keys (${API_KEY_COLUMNS}) SELECT ${NEW_KEY}
         WHERE NOT EXISTS (SELECT FROM api_keys) RETURNING 1`,
  listApiKeys: `SELECT ${API_KEY_COLUMNS} FROM api_keys ORDER BY created_at, id`,
  revokeApiKey: `UPDATE api_keys SET revoked_at = coalesce(revoked_at, $2::bigint) WHERE id = $1 RETURNING 1`,
  /** $11 and $12: the key that ends, and when. least() ignores NULL. */
  rotateApiKey: `
    WITH ended AS (
      UPDATE api_keys SET expires_at = least(expires_at, $12::bigint)
      WHERE id = $11 AND ${rotatableAt('$6::bigint')} RETURNING 1
    )
    INSERT INTO api_keys (${API_KEY_COLUMNS}) SELECT ${NEW_KEY} FROM ended RETURNING 1`,
  /**
   * Locks the keys in the order of their ids, because several processes record at once. greatest() ignores NULL.
   */
  recordKeyUse: `
    WITH locked AS MATERIALIZED (
      SELECT id FROM api_keys WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE
    )
    UPDATE api_keys SET
      last_used_at = greatest(last_used_at, used.at),
      last_deprecated_call_at = greatest(last_deprecated_call_at, used.deprecated_call_at)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS used (id, at, deprecated_call_at)
    WHERE api_keys.id = used.id AND (SELECT count(*) FROM locked) > 0`,
});

function named<Name extends string>(texts: Record<Name, string>): Record<Name, Statement> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, { name, text }]);
  return Object.fromEntries(statements) as Record<Name, Statement>;
}

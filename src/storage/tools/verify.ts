import { SCOPES } from '../../domain/api-key.ts';
import { PET_STATUSES } from '../../domain/pet.ts';
import { LAST_ID_MAX } from '../rows.ts';
import type { Comparison } from './structure.ts';

/** What `petstore verify` found. */
export interface Verification {
  animals: number;
  lastId: bigint;
  /** One line for each rule that the catalogue breaks; empty if it is sound. */
  problems: string[];
  /** One line for each part that somebody else has added, and that does no harm. */
  warnings: string[];
}

interface Rule {
  /** Which rows break it. Their number follows. */
  what: string;
  /** Selects a short name of each row that breaks the rule. */
  sql: string;
}

/** Every list of scopes that a key can have, as it is stored. */
const SCOPE_LISTS = SCOPES.reduce(
  (lists: string[][], scope) => [...lists, ...lists.map((each) => [...each, scope])],
  [[]],
)
  .filter((scopes) => scopes.length > 0)
  .map((scopes) => `'${scopes.join(' ')}'`)
  .join(', ');
const STATUSES = PET_STATUSES.map((status) => `'${status}'`).join(', ');

/**
 * What must be true of every catalogue, beyond what the database itself guarantees. The statements mean the
 * same on both databases. `lastId` is the expression for the highest id that was ever assigned.
 */
function catalogueRules(lastId: string): Rule[] {
  return [
    {
      what: 'animals with an id that was never assigned',
      sql: `SELECT id FROM pets WHERE id < 1 OR id > ${lastId}`,
    },
    {
      what: 'animals with a name that is not 1 to 255 characters long',
      sql: 'SELECT id FROM pets WHERE length(name) NOT BETWEEN 1 AND 255',
    },
    {
      what: 'animals with an unknown status',
      sql: `SELECT id FROM pets WHERE status NOT IN (${STATUSES})`,
    },
    {
      what: 'idempotency keys of an id that was never assigned',
      sql: `SELECT key FROM idempotency_keys WHERE pet_id < 1 OR pet_id > ${lastId}`,
    },
    {
      what: 'idempotency keys of an API key that does not exist',
      sql: 'SELECT key FROM idempotency_keys WHERE api_key_id NOT IN (SELECT id FROM api_keys)',
    },
    {
      what: 'API keys with an invalid hash or scope',
      sql: `SELECT id FROM api_keys WHERE length(hash) <> 64
              OR scopes NOT IN (${SCOPE_LISTS})`,
    },
    {
      what: 'imports that have counted more animals than lines',
      sql: 'SELECT source FROM imports WHERE position < 0 OR imported + skipped > lines',
    },
  ];
}

/** The row of the catalogue: how many animals, and the last id. */
const CATALOGUE = 'animals';

/** One row per rule: what it says, how many rows break it, and the first of them. In any order. */
export function verifyStatement(lastId: string): string {
  const rules = catalogueRules(lastId).map(
    ({ what, sql }) =>
      `SELECT * FROM (WITH broken (name) AS (${sql})
                      SELECT '${what}', count(*), CAST(min(name) AS text) FROM broken) AS rule`,
  );
  const catalogue = `SELECT '${CATALOGUE}', count(*), CAST(${lastId} AS text) FROM pets`;
  return [...rules, catalogue].join(' UNION ALL ');
}

/** In the row of the catalogue, the last is the last id. */
export type VerifyRow = [what: string, count: bigint, first: string | null];

export function verificationOf(
  rows: readonly VerifyRow[],
  { problems = [], warnings = [] }: Partial<Comparison> = {},
): Verification {
  const broken = rows.filter(([what, count]) => what !== CATALOGUE && count > 0n);
  const [, animals, last] = rows.find(([what]) => what === CATALOGUE) ?? [CATALOGUE, 0n, '0'];
  const lastId = BigInt(last ?? 0);
  return {
    animals: Number(animals),
    lastId,
    problems: [
      ...problems,
      ...(last === null ? ['the table pet_counter is empty'] : []),
      ...(lastId > LAST_ID_MAX
        ? [`the last id is ${lastId}: it must be at most ${LAST_ID_MAX}, to leave ids for others`]
        : []),
      ...broken.map(([what, count, first]) => `${what}: ${count} (the first is ${first})`),
    ],
    warnings,
  };
}

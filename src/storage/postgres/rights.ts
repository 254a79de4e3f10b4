import { StoreUnusable } from '../../domain/store.ts';
import { check, type Connection } from './connection.ts';

type Rights = Record<string, readonly string[]>;

/** The rights that the statements of the store need. */
export const STORE_RIGHTS: Rights = {
  pets: ['SELECT', 'INSERT'],
  pet_counter: ['SELECT', 'UPDATE'],
  api_keys: ['SELECT', 'INSERT', 'UPDATE'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  imports: ['SELECT', 'INSERT', 'UPDATE'],
  store_identity: ['SELECT'],
  rate_limits: ['SELECT', 'INSERT', 'UPDATE'],
};

/** Refuses a user who lacks a right now, rather than at the first create. */
export async function requireRights(
  connection: Connection,
  shown: string,
  rights: Rights,
): Promise<void> {
  const needed = Object.entries(rights).flatMap(([table, names]) =>
    names.map((name) => `('${table}', '${name}')`),
  );
  const [row] = await check(
    connection,
    `SELECT current_user, string_agg(privilege || ' ON ' || name, ', ')
     FROM (VALUES ${needed.join(', ')}) AS needed (name, privilege)
     WHERE NOT has_table_privilege(name, privilege)`,
  );
  const [user, missing] = row as [string, string | null];
  if (missing === null) return;
  throw new StoreUnusable(
    `${shown} does not give the user ${user} the rights it needs (${missing}): grant them as docs/postgresql.md shows, or name the owner of the tables in the database URL.`,
  );
}

import { StoreUnusable } from '../../domain/store.ts';
import type { Connection } from './connection.ts';
import { check } from './migrate.ts';

/** The rights that the statements of the store need. */
const RIGHTS = {
  pets: ['SELECT', 'INSERT'],
  pet_counter: ['SELECT', 'UPDATE'],
  api_keys: ['SELECT', 'INSERT', 'UPDATE'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  imports: ['SELECT', 'INSERT', 'UPDATE'],
  store_identity: ['SELECT'],
  rate_limits: ['SELECT', 'INSERT', 'UPDATE'],
};

/** Refuses a user who lacks a right now, rather than at the first create. */
export async function requireRights(connection: Connection, shown: string): Promise<void> {
  const needed = Object.entries(RIGHTS).flatMap(([table, rights]) =>
    rights.map((right) => `('${table}', '${right}')`),
  );
  const [row] = await check(
    connection,
    `SELECT current_user, string_agg(privilege || ' on ' || name, ', ')
     FROM (VALUES ${needed.join(', ')}) AS needed (name, privilege)
     WHERE NOT has_table_privilege(name, privilege)`,
  );
  const [user, missing] = row as [string, string | null];
  if (missing === null) return;
  throw new StoreUnusable(
    `${shown} does not give the user ${user} the rights ${missing}: GRANT them, or name the owner of the tables in the database URL.`,
  );
}

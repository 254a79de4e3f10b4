import type { DatabaseSync } from 'node:sqlite';

/** Rows are arrays, in the order of the columns. */
export function rowsOf<Row>(database: DatabaseSync, sql: string): Row[] {
  return database.prepare(sql).all() as unknown as Row[];
}

export function pragma(database: DatabaseSync, name: string): unknown {
  return rowsOf<unknown[]>(database, `PRAGMA ${name}`)[0]?.[0];
}

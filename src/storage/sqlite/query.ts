import type { DatabaseSync } from 'node:sqlite';

/** Rows are arrays, in the order of the columns. */
export function rowsOf<Row>(database: DatabaseSync, sql: string): Row[] {
  return database.prepare(sql).all() as unknown as Row[];
}

export function pragma(database: DatabaseSync, name: string): unknown {
  return rowsOf<unknown[]>(database, `PRAGMA ${name}`)[0]?.[0];
}

export function hasTable(database: DatabaseSync, name: string): boolean {
  const tables = rowsOf<[string]>(database, "SELECT name FROM sqlite_schema WHERE type = 'table'");
  return tables.some(([table]) => table === name);
}

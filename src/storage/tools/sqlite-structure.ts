import { DatabaseSync } from 'node:sqlite';
import { compareStructure, type Comparison, type Part } from './structure.ts';
import { createTables, migrationsOf } from '../sqlite/migrate.ts';
import { rowsOf } from '../sqlite/query.ts';

/**
 * From what SQLite has understood, not from the text of the statements that made it, except AUTOINCREMENT, which is in
 * no pragma: without it, ids are assigned again. A CHECK is not compared. It refuses a create, with its name in the log.
 */
const PARTS = `
  WITH tables AS (
    SELECT * FROM pragma_table_list
    WHERE schema = 'main' AND type <> 'view' AND name NOT LIKE 'sqlite^_%' ESCAPE '^'
  )
  SELECT 'table', '', name, concat_ws(' ', iif(strict, 'STRICT', NULL), iif(wr, 'WITHOUT ROWID', NULL))
  FROM tables
  UNION ALL
  SELECT 'column', tables.name, field.name, concat_ws(' ', field.type,
    iif(field."notnull", 'NOT NULL', NULL), 'DEFAULT ' || dflt_value,
    iif(pk, 'PRIMARY KEY ' || pk, NULL), iif(hidden, 'GENERATED', NULL))
  FROM tables, pragma_table_xinfo(tables.name) AS field
  UNION ALL
  SELECT 'index', tables.name, listed.name, concat(iif("unique", 'UNIQUE ', ''), '(', (
      SELECT group_concat(coalesce(field.name, 'expression') || ' ' || coll || iif("desc", ' DESC', ''), ', ')
      FROM pragma_index_xinfo(listed.name) AS field WHERE key
    ), ')', iif(partial, ' WHERE', ''))
  FROM tables, pragma_index_list(tables.name) AS listed
  UNION ALL
  SELECT 'foreign key', tables.name, "from",
    concat(listed."table", ' (', "to", ') ON UPDATE ', on_update, ' ON DELETE ', on_delete)
  FROM tables, pragma_foreign_key_list(tables.name) AS listed
  UNION ALL
  SELECT 'constraint', name, 'AUTOINCREMENT', ''
  FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'
  UNION ALL
  SELECT type, iif(type = 'view', '', tbl_name), name, ''
  FROM sqlite_schema WHERE type IN ('trigger', 'view')`;

export function checkStructure(database: DatabaseSync): Comparison {
  using empty = new DatabaseSync(':memory:', { readBigInts: true, returnArrays: true });
  createTables(empty, migrationsOf(database));
  return compareStructure(rowsOf<Part>(database, PARTS), rowsOf<Part>(empty, PARTS));
}

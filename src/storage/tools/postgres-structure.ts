import type { Part } from './structure.ts';
import type { OpenTransaction } from './postgres-copy.ts';
import { newStoreStatements } from '../postgres/migrate.ts';

/** The parts of the schema with this oid, from pg_catalog. What an extension has made is not a part. */
const partsOf = (schema: string) => `
  WITH relations AS (
    SELECT * FROM pg_class
    WHERE relnamespace = ${schema} AND relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT EXISTS (
      SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
  ), tables AS (
    SELECT * FROM relations WHERE relkind IN ('r', 'p', 'f')
  )
  SELECT CASE WHEN relkind IN ('v', 'm') THEN 'view' ELSE 'table' END, '', relname::text,
    concat_ws(' ', CASE WHEN relpersistence = 'u' AND relname <> 'rate_limits' THEN 'UNLOGGED' END,
      CASE WHEN relrowsecurity THEN 'ROW LEVEL SECURITY' END)
  FROM relations
  UNION ALL
  SELECT 'column', relname, attname, concat_ws(' ', format_type(atttypid, atttypmod),
    'COLLATE ' || collname, CASE WHEN attnotnull THEN 'NOT NULL' END,
    'DEFAULT ' || coalesce(pg_get_expr(adbin, adrelid), nullif(attidentity::text, '')))
  FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  LEFT JOIN pg_collation ON pg_collation.oid = attcollation
  UNION ALL
  SELECT 'index', tables.relname, listed.relname, concat(CASE WHEN indisunique THEN 'UNIQUE ' END,
    substring(pg_get_indexdef(indexrelid, 0, true) FROM ' USING (.*)'),
    CASE WHEN NOT indisvalid THEN ' INVALID' END)
  FROM tables JOIN pg_index ON indrelid = tables.oid
  JOIN pg_class AS listed ON listed.oid = indexrelid
  UNION ALL
  SELECT 'constraint', relname, conname, pg_get_constraintdef(pg_constraint.oid, true)
  FROM tables JOIN pg_constraint ON conrelid = tables.oid AND contype IN ('p', 'u', 'f', 'c', 'x')
  UNION ALL
  SELECT 'trigger', relname, tgname, '' FROM tables JOIN pg_trigger ON tgrelid = tables.oid
  WHERE NOT tgisinternal
  UNION ALL
  SELECT 'rule', relname, rulename, '' FROM tables JOIN pg_rewrite ON ev_class = tables.oid`;

/** Before the transaction ends: the statements of the store must find its tables. */
export async function readParts(run: OpenTransaction['run']): Promise<Part[]> {
  const schema = `(SELECT relnamespace FROM pg_class WHERE oid = 'petstore_schema'::regclass)`;
  return (await run(partsOf(schema))) as unknown as Part[];
}

/** Of a new store, which is made in the schema of temporary tables, and is gone with the transaction. */
export async function readPartsOfNew(run: OpenTransaction['run']): Promise<Part[]> {
  await run('BEGIN; SET LOCAL search_path = pg_temp');
  for (const sql of newStoreStatements()) await run(sql.replaceAll('UNLOGGED ', ''));
  const parts = await run(partsOf('pg_my_temp_schema()'));
  await run('ROLLBACK');
  return parts as unknown as Part[];
}

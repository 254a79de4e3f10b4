import type { CatalogueReader, CopySource, CopyTarget } from '../copy.ts';
import { API_KEY_COLUMNS, CLAIM_COLUMNS, IMPORT_COLUMNS, PET_COLUMNS } from '../rows.ts';
import type { ApiKeyRow, ClaimRow, ImportRow, PetRow } from '../rows.ts';
import { parseAddress } from './address.ts';
import { deadlineIn, inTransaction, type Connection, type Row } from './connection.ts';
import { Hosts, openFirst } from './hosts.ts';
import { migrate, unfinishedCopyOf } from './schema.ts';

/** No request waits for a copy, and one statement may read or write much. */
const STATEMENT_TIMEOUT_MS = 600_000;
const API_KEY_TYPES = 'text text text text bigint bigint bigint bigint';

type Run = (text: string, values?: unknown[]) => Promise<Row[]>;

/** Opens a database to copy from. Other programs may keep writing: the snapshot does not change. */
export async function openPostgresSource(url: string): Promise<CopySource> {
  const { connection, run } = await open(url);
  await run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  // The first read takes the snapshot.
  await run('SELECT FROM pet_counter');
  return readerOf(connection, run);
}

export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  const { connection, run } = await open(url);
  /** Inserts many rows with one statement, which takes one array per column. */
  async function insert(table: string, columns: string, types: string, rows: Row[]): Promise<void> {
    const arrays = types.split(' ').map((type, index) => `$${index + 1}::${type}[]`);
    const values = arrays.map((_, index) => rows.map((row) => row[index]));
    await run(`INSERT INTO ${table} (${columns}) SELECT * FROM unnest(${arrays.join()})`, values);
  }
  return {
    ...readerOf(connection, run),
    mark: (source) =>
      inTransaction(connection, run, async () => {
        await run('CREATE TABLE unfinished_copy (source text NOT NULL)');
        await run('INSERT INTO unfinished_copy VALUES ($1)', [source]);
      }),
    writePets: (rows) => insert('pets', PET_COLUMNS, 'bigint text bigint text', rows),
    finish: (work) =>
      inTransaction(connection, run, async () => {
        await work({
          writeKeys: (rows) => insert('api_keys', API_KEY_COLUMNS, API_KEY_TYPES, rows),
          writeClaims: (rows) =>
            insert('idempotency_keys', CLAIM_COLUMNS, 'text text text bigint bigint', rows),
          writeImports: (rows) =>
            insert('imports', IMPORT_COLUMNS, 'text bigint bigint bigint bigint', rows),
          async setLastId(id) {
            await run('UPDATE pet_counter SET last_id = $1::bigint', [id]);
          },
        });
        await run('DROP TABLE unfinished_copy');
      }),
  };
}

async function open(url: string): Promise<{ connection: Connection; run: Run }> {
  const address = parseAddress(url);
  const hosts = new Hosts(address);
  const connection = await openFirst(hosts);
  hosts.close();
  const run: Run = (text, values = []) =>
    connection.query({ name: '', text }, values, deadlineIn(STATEMENT_TIMEOUT_MS));
  try {
    await migrate(connection, address.shown);
    await run(`SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    return { connection, run };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function readerOf(connection: Connection, run: Run): CatalogueReader {
  return {
    readPets: async (afterId, limit) =>
      (await run(`SELECT ${PET_COLUMNS} FROM pets WHERE id > $1::bigint ORDER BY id LIMIT $2`, [
        afterId,
        limit,
      ])) as PetRow[],
    readKeys: async (afterId, limit) =>
      (await run(`SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE id > $1 ORDER BY id LIMIT $2`, [
        afterId,
        limit,
      ])) as ApiKeyRow[],
    readClaims: async ({ apiKeyId, key }, limit) =>
      (await run(
        `SELECT ${CLAIM_COLUMNS} FROM idempotency_keys WHERE (api_key_id, key) > ($1, $2)
         ORDER BY api_key_id, key LIMIT $3`,
        [apiKeyId, key, limit],
      )) as ClaimRow[],
    readImports: async (afterSource, limit) =>
      (await run(
        `SELECT ${IMPORT_COLUMNS} FROM imports WHERE source > $1 ORDER BY source LIMIT $2`,
        [afterSource, limit],
      )) as ImportRow[],
    countPets: async () => Number((await run('SELECT count(*) FROM pets'))[0]?.[0]),
    lastId: async () => (await run('SELECT last_id FROM pet_counter'))[0]?.[0] as bigint,
    unfinishedCopyOf: () => unfinishedCopyOf(connection),
    close: () => connection.close(),
  };
}

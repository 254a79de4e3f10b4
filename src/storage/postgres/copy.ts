import type { CatalogueReader, CopySource, CopyTarget } from '../copy.ts';
import { API_KEY_COLUMNS, CLAIM_COLUMNS, IMPORT_COLUMNS, PET_COLUMNS } from '../rows.ts';
import type { ApiKeyRow, ClaimRow, ImportRow, PetRow } from '../rows.ts';
import { parseAddress } from './address.ts';
import { deadlineIn, inTransaction, type Connection, type Row } from './connection.ts';
import { Hosts, openFirst } from './hosts.ts';
import { migrate, unfinishedCopyOf } from './schema.ts';

/** No request waits for a copy, and one statement may read or write much. */
const STATEMENT_TIMEOUT_MS = 600_000;

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
  return {
    ...readerOf(connection, run),
    mark: (source) =>
      inTransaction(connection, run, async () => {
        await run('CREATE TABLE unfinished_copy (source text NOT NULL)');
        await run('INSERT INTO unfinished_copy VALUES ($1)', [source]);
      }),
    async writePets(rows) {
      await run(
        `INSERT INTO pets (${PET_COLUMNS})
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])`,
        columnsOf(rows, 4),
      );
    },
    finish: (work) =>
      inTransaction(connection, run, async () => {
        await work({
          async writeKeys(rows) {
            await run(
              `INSERT INTO api_keys (${API_KEY_COLUMNS})
               SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[],
                                    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])`,
              columnsOf(rows, 8),
            );
          },
          async writeClaims(rows) {
            await run(
              `INSERT INTO idempotency_keys (${CLAIM_COLUMNS})
               SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])`,
              columnsOf(rows, 5),
            );
          },
          async writeImports(rows) {
            await run(
              `INSERT INTO imports (${IMPORT_COLUMNS})
               SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])`,
              columnsOf(rows, 5),
            );
          },
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

/** Rows as one array per column, which is how one statement takes many rows. */
function columnsOf(rows: readonly unknown[][], columns: number): unknown[][] {
  return Array.from({ length: columns }, (_, column) => rows.map((row) => row[column]));
}

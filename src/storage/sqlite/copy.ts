import { existsSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import type { CatalogueReader, CopySource, CopyTarget } from '../copy.ts';
import { API_KEY_COLUMNS, CLAIM_COLUMNS, IMPORT_COLUMNS, PET_COLUMNS } from '../rows.ts';
import type { ApiKeyRow, ClaimRow, ImportRow, PetRow } from '../rows.ts';
import { openAsIs, openStoreFile } from './connection.ts';
import { unfinishedCopyOf } from './schema.ts';
import { beginTransaction } from './statements.ts';

/** Opens a file to copy from. Other processes may keep writing: the snapshot does not change. */
export function openSqliteSource(file: string): CopySource {
  if (!existsSync(file)) {
    throw new StoreUnusable(`there is no file ${file}: --from must name a catalogue that exists.`);
  }
  // A source is not changed: a backup, for example, keeps its journal mode.
  const { database } = openStoreFile(file, { mayCreate: false, open: openAsIs });
  database.exec('BEGIN');
  // The first read takes the snapshot.
  database.prepare('SELECT 1 FROM pets LIMIT 1').get();
  return readerOf(database);
}

export function openSqliteTarget(file: string): CopyTarget {
  const { database } = openStoreFile(file, { mayCreate: true });
  const insertPets = prepareInsert(database, 'pets', PET_COLUMNS);
  const writer = {
    writeKeys: prepareInsert(database, 'api_keys', API_KEY_COLUMNS),
    writeClaims: prepareInsert(database, 'idempotency_keys', CLAIM_COLUMNS),
    writeImports: prepareInsert(database, 'imports', IMPORT_COLUMNS),
    async setLastId(id: bigint) {
      // The table in which SQLite keeps the highest id of each AUTOINCREMENT column.
      database.exec("DELETE FROM sqlite_sequence WHERE name = 'pets'");
      database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(id);
    },
  };
  return {
    ...readerOf(database),
    async mark(source) {
      using transaction = beginTransaction(database);
      database.exec('CREATE TABLE unfinished_copy (source TEXT NOT NULL) STRICT');
      database.prepare('INSERT INTO unfinished_copy VALUES (?)').run(source);
      transaction.commit();
    },
    async writePets(rows) {
      using transaction = beginTransaction(database);
      await insertPets(rows);
      transaction.commit();
    },
    async finish(work) {
      using transaction = beginTransaction(database);
      await work(writer);
      database.exec('DROP TABLE unfinished_copy');
      transaction.commit();
    },
  };
}

function readerOf(database: DatabaseSync): CatalogueReader {
  const readClaims = prepareRead<ClaimRow>(
    database,
    `SELECT ${CLAIM_COLUMNS} FROM idempotency_keys WHERE (api_key_id, key) > (?, ?)
     ORDER BY api_key_id, key LIMIT ?`,
  );
  const count = prepareRead<[bigint]>(database, 'SELECT count(*) FROM pets');
  const last = prepareRead<[bigint]>(
    database,
    "SELECT seq FROM sqlite_sequence WHERE name = 'pets'",
  );
  return {
    readPets: prepareRead<PetRow>(
      database,
      `SELECT ${PET_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    readKeys: prepareRead<ApiKeyRow>(
      database,
      `SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    readClaims: ({ apiKeyId, key }, limit) => readClaims(apiKeyId, key, limit),
    readImports: prepareRead<ImportRow>(
      database,
      `SELECT ${IMPORT_COLUMNS} FROM imports WHERE source > ? ORDER BY source LIMIT ?`,
    ),
    countPets: async () => Number((await count())[0]?.[0]),
    lastId: async () => (await last())[0]?.[0] ?? 0n,
    unfinishedCopyOf: async () => unfinishedCopyOf(database),
    close: async () => database.close(),
  };
}

function prepareRead<Row>(database: DatabaseSync, sql: string) {
  const statement = database.prepare(sql);
  return async (...values: SQLInputValue[]) => statement.all(...values) as unknown as Row[];
}

function prepareInsert(database: DatabaseSync, table: string, columns: string) {
  const values = columns.replaceAll(/\w+/g, '?');
  const statement = database.prepare(`INSERT INTO ${table} (${columns}) VALUES (${values})`);
  return async (rows: SQLInputValue[][]) => {
    for (const row of rows) statement.run(...row);
  };
}

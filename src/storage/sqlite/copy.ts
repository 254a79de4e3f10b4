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
  const writePet = database.prepare(`INSERT INTO pets (${PET_COLUMNS}) VALUES (?, ?, ?, ?)`);
  const writeKey = database.prepare(
    `INSERT INTO api_keys (${API_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const writeClaim = database.prepare(
    `INSERT INTO idempotency_keys (${CLAIM_COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
  );
  const writeImport = database.prepare(
    `INSERT INTO imports (${IMPORT_COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
  );
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
      for (const row of rows) writePet.run(...row);
      transaction.commit();
    },
    async finish(work) {
      using transaction = beginTransaction(database);
      await work({
        async writeKeys(rows) {
          for (const row of rows) writeKey.run(...row);
        },
        async writeClaims(rows) {
          for (const row of rows) writeClaim.run(...row);
        },
        async writeImports(rows) {
          for (const row of rows) writeImport.run(...row);
        },
        async setLastId(id) {
          // The table in which SQLite keeps the highest id of each AUTOINCREMENT column.
          database.exec("DELETE FROM sqlite_sequence WHERE name = 'pets'");
          database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(id);
        },
      });
      database.exec('DROP TABLE unfinished_copy');
      transaction.commit();
    },
  };
}

function readerOf(database: DatabaseSync): CatalogueReader {
  const pets = database.prepare(`SELECT ${PET_COLUMNS} FROM pets WHERE id > ? ORDER BY id LIMIT ?`);
  const keys = database.prepare(
    `SELECT ${API_KEY_COLUMNS} FROM api_keys WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const claims = database.prepare(
    `SELECT ${CLAIM_COLUMNS} FROM idempotency_keys WHERE (api_key_id, key) > (?, ?)
     ORDER BY api_key_id, key LIMIT ?`,
  );
  const imports = database.prepare(
    `SELECT ${IMPORT_COLUMNS} FROM imports WHERE source > ? ORDER BY source LIMIT ?`,
  );
  const count = database.prepare('SELECT count(*) FROM pets');
  const last = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'pets'");
  const rowsOf = <Row>(statement: typeof pets, ...values: SQLInputValue[]) =>
    statement.all(...values) as unknown as Row[];
  return {
    readPets: async (afterId, limit) => rowsOf<PetRow>(pets, afterId, limit),
    readKeys: async (afterId, limit) => rowsOf<ApiKeyRow>(keys, afterId, limit),
    readClaims: async ({ apiKeyId, key }, limit) => rowsOf<ClaimRow>(claims, apiKeyId, key, limit),
    readImports: async (afterSource, limit) => rowsOf<ImportRow>(imports, afterSource, limit),
    countPets: async () => Number(rowsOf<[bigint]>(count)[0]?.[0]),
    lastId: async () => rowsOf<[bigint]>(last)[0]?.[0] ?? 0n,
    unfinishedCopyOf: async () => unfinishedCopyOf(database),
    close: async () => database.close(),
  };
}

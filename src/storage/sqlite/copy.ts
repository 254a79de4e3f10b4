import type { DatabaseSync } from 'node:sqlite';
import type { Access } from '../../domain/store-identity.ts';
import { selectPage } from '../copy.ts';
import type { CatalogueReader, CopyTarget, Row } from '../copy.ts';
import { openAsIs, openStoreFile } from './connection.ts';
import { requireUnusedName, temporaryFile } from './new-file.ts';
import { findStoreIdentity, keepStoreId } from './store-identity.ts';

/** Opens a file to read one snapshot of it. Other processes may keep writing. */
export function openSqliteReader(file: string, access: Access = {}): CatalogueReader {
  const database = open(file, { ...access, mayCreate: false, mayMigrate: false });
  // The first read takes the snapshot.
  database.prepare('SELECT 1 FROM pets LIMIT 1').get();
  return readerOf(database);
}

/** Creates a file that gets its name when it is committed. */
export function openSqliteTarget(file: string): CopyTarget {
  requireUnusedName(file);
  using opening = new DisposableStack();
  const partial = opening.use(temporaryFile(`${file}.partial`));
  const database = open(partial.name);
  const created = opening.move();
  return {
    ...readerOf(database),
    async write({ name, columns }, rows) {
      const values = columns.replaceAll(/\w+/g, '?');
      const statement = database.prepare(`INSERT INTO ${name} (${columns}) VALUES (${values})`);
      for (const row of rows) statement.run(...row);
    },
    setLastId: async (id) => setLastId(database, id),
    async commit() {
      database.exec('COMMIT');
      partial.publish(file);
      keepStoreId(file, findStoreIdentity(database));
    },
    async close() {
      database.close();
      created.dispose();
    },
  };
}

/** Opens a store in one transaction, and keeps its journal mode: a backup stays one file. */
function open(file: string, access: Access = {}): DatabaseSync {
  const { database } = openStoreFile(file, { ...access, open: openAsIs });
  database.exec('BEGIN');
  return database;
}

/** New animals get ids above this one. */
export function setLastId(database: DatabaseSync, id: bigint): void {
  // The table in which SQLite keeps the highest id of each AUTOINCREMENT column.
  database.exec("DELETE FROM sqlite_sequence WHERE name = 'pets'");
  database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(id);
}

function readerOf(database: DatabaseSync): CatalogueReader {
  const readBigInt = (sql: string) =>
    (database.prepare(sql).get() as unknown as [bigint] | undefined)?.[0] ?? 0n;
  return {
    read: async (table, after, count) =>
      database.prepare(selectPage(table, '?')).all(...after, count) as unknown as Row[],
    countPets: async () => Number(readBigInt('SELECT count(*) FROM pets')),
    lastId: async () => readBigInt("SELECT seq FROM sqlite_sequence WHERE name = 'pets'"),
    close: async () => database.close(),
  };
}

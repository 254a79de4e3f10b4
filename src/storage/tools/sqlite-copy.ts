import type { DatabaseSync } from 'node:sqlite';
import type { Access } from '../../domain/store-identity.ts';
import { selectPage } from './copy.ts';
import type { CatalogueReader, CopyTarget, Row } from './copy.ts';
import { openAsIs } from '../sqlite/connection.ts';
import { createTables, migrate, readStoreIdentity } from '../sqlite/migrate.ts';
import { requireUnusedName, temporaryFile } from './new-file.ts';
import { keepStoreId, unusableStore } from '../sqlite/open.ts';
import { rowsOf } from '../sqlite/query.ts';
import { LAST_ID } from '../sqlite/statements.ts';
import { openToRead } from './sqlite-verify.ts';

/** Opens a file to read one snapshot of it. Other processes may keep writing. */
export function openSqliteReader(file: string, { environment }: Access = {}): CatalogueReader {
  using opening = new DisposableStack();
  const { database } = opening.use(openToRead(file, environment));
  migrate(database, file, { mayMigrate: false });
  database.exec('BEGIN');
  // The first read takes the snapshot.
  database.prepare('SELECT 1 FROM pets LIMIT 1').get();
  return readerOf(database, opening.move());
}

/** Creates a file that gets its name when it is committed. */
export function openSqliteTarget(file: string): CopyTarget {
  requireUnusedName(file);
  using opening = new DisposableStack();
  const partial = opening.use(newPartial(file));
  const database = opening.use(openAsIs(partial.name));
  database.exec('BEGIN');
  createTables(database);
  return {
    ...readerOf(database, opening.move()),
    async write({ name, columns }, rows) {
      const values = columns.replaceAll(/\w+/g, '?');
      const statement = database.prepare(`INSERT INTO ${name} (${columns}) VALUES (${values})`);
      for (const row of rows) statement.run(...row);
    },
    setLastId: async (id) => setLastId(database, id),
    async commit() {
      database.exec('COMMIT');
      partial.publish();
      keepStoreId(file, readStoreIdentity(database, file));
    },
  };
}

function newPartial(file: string): ReturnType<typeof temporaryFile> {
  try {
    return temporaryFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const remedy = 'name a file in a folder that this user can write to';
    throw unusableStore(`the store ${file} cannot be created`, error, remedy);
  }
}

/** New animals get ids above this one. */
export function setLastId(database: DatabaseSync, id: bigint): void {
  // The table in which SQLite keeps the highest id of each AUTOINCREMENT column.
  database.exec("DELETE FROM sqlite_sequence WHERE name = 'pets'");
  database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(id);
}

function readerOf(database: DatabaseSync, opened: DisposableStack): CatalogueReader {
  const readBigInt = (sql: string) => rowsOf<[bigint]>(database, sql)[0]?.[0] ?? 0n;
  return {
    read: async (table, after, count) =>
      database.prepare(selectPage(table, '?')).all(...after, count) as unknown as Row[],
    count: async ({ name }) => Number(readBigInt(`SELECT count(*) FROM ${name}`)),
    lastId: async () => readBigInt(`SELECT ${LAST_ID}`),
    close: async () => opened.dispose(),
  };
}

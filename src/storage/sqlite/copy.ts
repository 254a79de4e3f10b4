import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { selectPage } from '../copy.ts';
import type { CatalogueReader, CopySource, CopyTarget, Row, Table } from '../copy.ts';
import { openAsIs, openStoreFile } from './connection.ts';
import { unfinishedCopyOf } from './migrate.ts';
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
  async function insert({ name, columns }: Table, rows: Row[]): Promise<void> {
    const values = columns.replaceAll(/\w+/g, '?');
    const statement = database.prepare(`INSERT INTO ${name} (${columns}) VALUES (${values})`);
    for (const row of rows) statement.run(...row);
  }
  return {
    ...readerOf(database),
    async mark(source) {
      using transaction = beginTransaction(database);
      database.exec('CREATE TABLE unfinished_copy (source TEXT NOT NULL) STRICT');
      database.prepare('INSERT INTO unfinished_copy VALUES (?)').run(source);
      transaction.commit();
    },
    async write(table, rows) {
      using transaction = beginTransaction(database);
      await insert(table, rows);
      transaction.commit();
    },
    async finish(work) {
      using transaction = beginTransaction(database);
      await work({ write: insert, setLastId: async (id) => setLastId(database, id) });
      database.exec('DROP TABLE unfinished_copy');
      transaction.commit();
    },
  };
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
    unfinishedCopyOf: async () => unfinishedCopyOf(database),
    close: async () => database.close(),
  };
}

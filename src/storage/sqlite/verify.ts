import { realpathSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { catalogueRules, problemLine, type Verification } from '../verify.ts';
import { openAsIs } from './connection.ts';
import { unmarkDamaged } from './damage.ts';
import { isCorrupt, isTemporary } from './errors.ts';
import { refuseEmpty, refuseForeign } from './file-kind.ts';
import { refuseUnfinishedCopy } from './migrate.ts';

/** The highest id that was ever assigned. */
export const LAST_ID = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'pets'), 0)";

/** Checks the file itself and the rules of the catalogue. An intact file may be used by the service again. */
export function verifySqlite(file: string): Verification {
  using source = openToRead(file);
  try {
    const verification = verify(source.database);
    if (verification.problems.length === 0) unmarkDamaged(realpathSync(file));
    return verification;
  } catch (error) {
    throw nameFile(file, error);
  }
}

export interface OpenStore {
  file: string;
  database: DatabaseSync;
}

/** Opens a store of any version, without changing it. */
export function openToRead(file: string): Disposable & OpenStore {
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile) throw new StoreUnusable(`there is no file ${file}.`);
  refuseForeign(file);
  const database = openAsIs(file);
  try {
    refuseEmpty(database, file);
    refuseUnfinishedCopy(database, file);
  } catch (error) {
    database.close();
    throw nameFile(file, error);
  }
  return { file, database, [Symbol.dispose]: () => database.close() };
}

export function verify(database: DatabaseSync): Verification {
  const integrity = rowsOf<[string]>(database, 'PRAGMA integrity_check').map(([line]) => line);
  const problems = integrity.filter((line) => line !== 'ok');
  try {
    for (const rule of catalogueRules(LAST_ID)) {
      const rows = rowsOf<[bigint, unknown]>(
        database,
        `WITH broken (name) AS (${rule.sql}) SELECT count(*), min(name) FROM broken`,
      );
      const [count, first] = rows[0] ?? [0n, undefined];
      if (count > 0n) problems.push(problemLine(rule, Number(count), first));
    }
    const [row] = rowsOf<[bigint, bigint]>(database, `SELECT count(*), ${LAST_ID} FROM pets`);
    return { animals: Number(row?.[0]), lastId: row?.[1] ?? 0n, problems };
  } catch (error) {
    if (problems.length === 0 || !isCorrupt(error)) throw error;
    throw new Refusal('unavailable', `the database is damaged (${problems[0]}): restore a backup.`);
  }
}

export function rowsOf<Row>(database: DatabaseSync, sql: string): Row[] {
  return database.prepare(sql).all() as unknown as Row[];
}

/** SQLite does not say which file has failed. */
export function nameFile(file: string, error: unknown): unknown {
  const failed = isCorrupt(error)
    ? `${file} is damaged: restore another backup.`
    : isTemporary(error)
      ? `${file} cannot be read.`
      : undefined;
  return failed === undefined ? error : new Refusal('unavailable', failed, { cause: error });
}

import { realpathSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Environment } from '../../domain/api-key.ts';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { requireEnvironment } from '../../domain/store-identity.ts';
import { verificationOf, verifyStatement, type Verification, type VerifyRow } from '../verify.ts';
import { openAsIs } from './connection.ts';
import { unmarkDamaged } from './damage.ts';
import { isCorrupt, isTemporary, namedCause } from './errors.ts';
import { refuseEmpty, refuseForeign } from './file-kind.ts';
import { refuseUnfinishedCopy } from './migrate.ts';
import { findStoreIdentity } from './store-identity.ts';

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

/** Opens a store of any version, and of this environment if one is given, without changing it. */
export function openToRead(file: string, environment?: Environment): Disposable & OpenStore {
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
  if (!isFile) throw new StoreUnusable(`there is no file ${file}.`);
  refuseForeign(file);
  const database = openAsIs(file);
  try {
    refuseEmpty(database, file);
    refuseUnfinishedCopy(database, file);
    const identity = findStoreIdentity(database);
    requireEnvironment(identity, environment, { store: file, other: 'name another one' });
  } catch (error) {
    database.close();
    throw nameFile(file, error);
  }
  return { file, database, [Symbol.dispose]: () => database.close() };
}

export function verify(database: DatabaseSync): Verification {
  const integrity = rowsOf<[string]>(database, 'PRAGMA integrity_check').map(([line]) => line);
  const damage = integrity.filter((line) => line !== 'ok');
  try {
    const found = verificationOf(rowsOf<VerifyRow>(database, verifyStatement(LAST_ID)));
    return { ...found, problems: [...damage, ...found.problems] };
  } catch (error) {
    if (damage.length === 0 || !isCorrupt(error)) throw error;
    throw new Refusal('unavailable', `the database is damaged (${damage[0]}): restore a backup.`);
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
  if (failed === undefined) return error;
  return new Refusal('unavailable', failed, { cause: namedCause(error) });
}

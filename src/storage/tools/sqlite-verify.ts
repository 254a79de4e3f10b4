import { accessSync, constants, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Environment } from '../../domain/key-form.ts';
import { StoreUnusable } from '../../domain/store.ts';
import { requireEnvironment } from '../../domain/store-identity.ts';
import type { Comparison } from './structure.ts';
import { verificationOf, verifyStatement, type Verification, type VerifyRow } from './verify.ts';
import { hasCatalogue, openAsIs, refuseForeign } from '../sqlite/connection.ts';
import { fileError } from '../sqlite/errors.ts';
import { readStoreIdentity, requireKnownSchema } from '../sqlite/migrate.ts';
import { unusableStore } from '../sqlite/open.ts';
import { rowsOf } from '../sqlite/query.ts';
import { LAST_ID } from '../sqlite/statements.ts';
import { checkStructure } from './sqlite-structure.ts';

/** Checks the file itself and the rules of the catalogue. */
export function verifySqlite(file: string): Verification {
  using source = openToRead(file);
  try {
    return verify(source.database);
  } catch (error) {
    throw fileError(file, error);
  }
}

export interface OpenStore {
  file: string;
  database: DatabaseSync;
}

/** Opens a store of this environment if one is given, without changing it. */
export function openToRead(
  file: string,
  environment?: Environment,
  other = 'name another data folder',
): Disposable & OpenStore {
  requireReadable(file);
  const database = openAsIs(file);
  try {
    refuseForeign(database, file);
    if (!hasCatalogue(database)) {
      throw new StoreUnusable(`${file} is empty: it must be a file with a catalogue.`);
    }
    requireKnownSchema(database, file);
    if (environment !== undefined) {
      requireEnvironment(readStoreIdentity(database, file), environment, { store: file, other });
    }
  } catch (error) {
    database.close();
    throw fileError(file, error);
  }
  return { file, database, [Symbol.dispose]: () => database.close() };
}

function requireReadable(file: string): void {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) {
      return accessSync(file, constants.R_OK);
    }
  } catch (error) {
    const remedy = 'run this as a user who can read and write it, for example its owner';
    throw unusableStore(`the store ${file} cannot be opened`, error, remedy);
  }
  throw new StoreUnusable(`there is no file ${file}.`);
}

/** The file, its structure and the rules of the catalogue. */
export function verify(database: DatabaseSync) {
  return verifyContent(database, checkStructure(database));
}

/** The file and the rules of the catalogue, as far as there are tables to check. Damage of the file is also a problem. */
export function verifyContent(database: DatabaseSync, structure?: Comparison) {
  const integrity = rowsOf<[string]>(database, 'PRAGMA integrity_check').map(([line]) => line);
  const damage = integrity.filter((line) => line !== 'ok');
  const hasTables = structure?.isWhole ?? true;
  const rows = hasTables ? rowsOf<VerifyRow>(database, verifyStatement(LAST_ID)) : [];
  const found = verificationOf(rows, structure);
  return { ...found, problems: [...damage, ...found.problems], damage };
}

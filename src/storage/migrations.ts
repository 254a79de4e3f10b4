import { StoreFault, StoreUnusable } from '../domain/store.ts';
import type { Access } from '../domain/store-identity.ts';
import { listProgramFolder, readProgramFile, VERSION } from '../installation.ts';

/** One step of the tables of a store: plain SQL that can be pasted into the database's shell. */
export interface Migration {
  version: number;
  sql: string;
}

/** Reads `0001-name.sql`, `0002-name.sql`, … of a folder in order, and throws if a number is missing. */
export function readMigrations(folder: URL): Migration[] {
  const files = listProgramFolder(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted();
  return files.map((file, index) => {
    const version = Number.parseInt(file, 10);
    if (version !== index + 1) throw new Error(`${file} should be migration number ${index + 1}`);
    return { version, sql: readProgramFile(new URL(file, folder)) };
  });
}

/**
 * The error for a store that `petstore copy` of version 1.1.0 has not filled completely: until it had, the
 * store had a table `unfinished_copy` with the name of the source. Later versions commit a copy as a whole.
 */
export function unfinishedCopy(store: string, source: unknown): StoreFault {
  return new StoreFault(
    `${store} is an unfinished copy of ${String(source)}: remove it and run petstore copy again into a new store, or open another store.`,
  );
}

export function noStore(place: string): StoreUnusable {
  return new StoreUnusable(
    `there is no store at ${place}: name another place, or start the service there once; import and keys create make one with --create.`,
  );
}

/** To be run after a migration, when the store has its identity. */
export const REMEMBER_PROGRAM = `UPDATE store_identity SET migrated_by = '${VERSION}'`;

/** Until this version, a store did not remember the program. */
const LAST_UNNAMED = '1.1.0 or older';

/** How far a store is migrated. */
export interface StoreSchema {
  /** 0 is a database without a store. */
  version: number;
  /** The version of the program that last migrated it, if the store says so. */
  migratedBy?: string | undefined;
}

/**
 * The migrations that a store still needs. Throws if they may not be applied, and for a newer store than this
 * program's.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  { version, migratedBy }: StoreSchema,
  store: string,
  { mayCreate = true, mayMigrate = true }: Access = {},
): Migration[] {
  const newest = migrations.length;
  if (version > newest) {
    const by = migratedBy === undefined ? 'a newer petstore' : `petstore ${migratedBy}`;
    throw new StoreFault(
      `${store} has schema version ${version}, this program knows only ${newest}, and it was migrated by ${by}: use that version or a newer one.`,
    );
  }
  if (version === 0 && !mayCreate) throw noStore(store);
  if (version > 0 && version < newest && !mayMigrate) {
    throw new StoreFault(
      `${store} is of schema ${version}, this program needs ${newest}: start the service once, or use petstore ${migratedBy ?? LAST_UNNAMED}.`,
    );
  }
  return migrations.slice(version);
}

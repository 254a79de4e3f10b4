import { StoreFault, StoreUnusable } from '../domain/store.ts';
import type { Access } from '../domain/store-identity.ts';
import { listProgramFolder, readProgramFile } from '../ops/installation.ts';

/** One step of the tables of a store: plain SQL that can be pasted into the database's shell. */
export interface Migration {
  version: number;
  sql: string;
}

/**
 * Reads `0008-name.sql`, `0009-name.sql`, … of a folder in order, and throws if a number is missing. The first one creates a
 * store.
 */
export function readMigrations(folder: URL): Migration[] {
  const files = listProgramFolder(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted();
  const first = Number.parseInt(files[0] ?? '', 10);
  return files.map((file, index) => {
    const version = Number.parseInt(file, 10);
    if (version !== first + index) throw new Error(`${file} should be migration ${first + index}`);
    return { version, sql: readProgramFile(new URL(file, folder)) };
  });
}

export function noStore(place: string): StoreUnusable {
  return new StoreUnusable(
    `there is no store at ${place}: name another place, or start the service there once.`,
  );
}

/**
 * The migrations that a store of a version still needs; 0 is a database without a store. Throws if they may not be applied,
 * for a newer store than this program's, and for one from before the first release.
 */
export function pendingMigrations(
  migrations: readonly Migration[],
  version: number,
  store: string,
  { identity, mayMigrate = true }: Access = {},
): Migration[] {
  const [first, newest] = [migrations[0]?.version ?? 0, migrations.at(-1)?.version ?? 0];
  const refused = (remedy: string) =>
    new StoreFault(
      `${store} has schema version ${version}, this program needs ${newest}: ${remedy}.`,
    );
  if (version > newest) throw refused('use a newer version of the program');
  if (version > 0 && version < first) {
    throw refused('it is from before the first release, and no version of the program migrates it');
  }
  if (version === 0 && identity === undefined) throw noStore(store);
  if (version > 0 && version < newest && !mayMigrate) throw refused('start the service once');
  return migrations.filter((migration) => migration.version > version);
}

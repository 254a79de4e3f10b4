// Tells the file of a store from the databases of other programs.

import { closeSync, openSync, readSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { pragma } from './query.ts';

/** "PETS": tells a store's file from the databases of other programs. */
export const APPLICATION_ID = 0x50455453n;

/** The header of a database file as the file format defines it, and the offsets of these 32-bit numbers. */
const HEADER_BYTES = 100;
const HEADER_OFFSET = { schemaChanges: 40, userVersion: 60, applicationId: 68 };

/**
 * Refuses a database that another program has created; an empty one is accepted. Only the header is read,
 * without a lock or a log: another program's file must not be changed.
 */
export function refuseForeign(file: string): void {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header);
  } finally {
    closeSync(descriptor);
  }
  const read = (offset: number) => BigInt(header.readUInt32BE(offset));
  if (read(HEADER_OFFSET.applicationId) === APPLICATION_ID) return;
  // SQLite itself reports a file that is not a database.
  if (!header.toString('latin1').startsWith('SQLite format 3')) return;
  if (Object.values(HEADER_OFFSET).some((offset) => read(offset) !== 0n)) throw foreign(file);
}

export function foreign(file: string): StoreUnusable {
  return new StoreUnusable(
    `${file} belongs to another program: --data must name a folder of the pet store's own.`,
  );
}

/** The same check for an open database, whose newest header may still be in its log. */
export function isForeign(database: DatabaseSync): boolean {
  if (hasCatalogue(database)) return false;
  const anyTable = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
  return pragma(database, 'user_version') !== 0n || anyTable !== undefined;
}

/** SQLite opens an empty file as an empty database, which has none. */
export function hasCatalogue(database: DatabaseSync): boolean {
  return pragma(database, 'application_id') === APPLICATION_ID;
}

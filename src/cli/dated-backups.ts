// Backups with a date in their names, in one folder.

import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Environment } from '../domain/api-key.ts';
import { findStoreIdentity } from '../storage/sqlite/migrate.ts';
import { openToRead } from '../storage/sqlite/verify.ts';

const DATED_NAME = /^petstore-(?:production|staging)-\d{4}-\d{2}-\d{2}T\d{6}Z\.sqlite$/;

/** Such as `petstore-production-2026-11-16T194530Z.sqlite`. Sorted by name, they are sorted by date. */
export function datedName(environment: Environment, now: Date): string {
  const date = now.toISOString().replace(/\.\d+/, '').replaceAll(':', '');
  return `petstore-${environment}-${date}.sqlite`;
}

/**
 * Removes older backups of the same store beside a new one, until `count` are left, and returns their names. A file
 * with another name, of another store or that cannot be read is neither counted nor removed.
 */
export function removeOlderBackups(newest: string, count: number): string[] {
  const folder = dirname(newest);
  const storeId = findStoreId(newest);
  if (storeId === undefined) return [];
  const others = readdirSync(folder).filter(
    (name) =>
      DATED_NAME.test(name) &&
      name !== basename(newest) &&
      findStoreId(join(folder, name)) === storeId,
  );
  const removed = others
    .toSorted()
    .toReversed()
    .slice(count - 1);
  for (const name of removed) rmSync(join(folder, name));
  return removed;
}

function findStoreId(file: string): string | undefined {
  try {
    using backup = openToRead(file);
    return findStoreIdentity(backup.database)?.id;
  } catch {
    return undefined;
  }
}

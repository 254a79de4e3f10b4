// Backups with a date in their names, in one folder.

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Environment } from '../domain/key-form.ts';
import { readStoreIdentity } from '../storage/sqlite/migrate.ts';
import { openToRead } from '../storage/tools/sqlite-verify.ts';

const DATED_NAME = /^petstore-(?:production|staging)-\d{4}-\d{2}-\d{2}T\d{6}Z\.sqlite$/;
/** What a backup that was killed has left. */
const PARTIAL_NAME =
  /^petstore-(?:production|staging)-[\dTZ-]+\.sqlite\.\d+\.partial(?:-journal)?$/;
/** A backup that runs writes more often. */
const PARTIAL_AGE_MS = 60 * 60 * 1_000;

/** Such as `petstore-production-2026-11-16T194530Z.sqlite`. Sorted by name, they are sorted by date. */
export function datedName(environment: Environment, now: Date): string {
  const date = now.toISOString().replace(/\.\d+/, '').replaceAll(':', '');
  return `petstore-${environment}-${date}.sqlite`;
}

/**
 * Removes older backups of the same store beside a new one, until `count` are left, and what killed backups have left.
 * Returns their names. A file with another name, of another store or that cannot be read is neither counted nor removed.
 */
export function removeOlderBackups(newest: string, count: number, now: Date): string[] {
  const folder = dirname(newest);
  const storeId = findStoreId(newest);
  if (storeId === undefined) return [];
  const names = readdirSync(folder);
  const isLeft = (name: string) =>
    PARTIAL_NAME.test(name) &&
    now.getTime() - statSync(join(folder, name)).mtimeMs > PARTIAL_AGE_MS;
  const others = names.filter(
    (name) =>
      DATED_NAME.test(name) &&
      name !== basename(newest) &&
      findStoreId(join(folder, name)) === storeId,
  );
  const older = others
    .toSorted()
    .toReversed()
    .slice(count - 1);
  const removed = [...older, ...names.filter(isLeft)];
  for (const name of removed) rmSync(join(folder, name));
  return removed;
}

function findStoreId(file: string): string | undefined {
  try {
    using backup = openToRead(file);
    return readStoreIdentity(backup.database, file).id;
  } catch {
    return undefined;
  }
}

import { accessSync, constants, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreFault, StoreUnusable } from '../../domain/store.ts';
import type { StoreIdentity } from '../../domain/store-identity.ts';
import { identityOfRow, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
import { hasCatalogue } from './file-kind.ts';
import { hasTable, rowsOf } from './query.ts';
import { syncFile, syncName } from './sync.ts';

/** The identity of a store of any version; undefined if no service has given it one yet. */
export function findStoreIdentity(database: DatabaseSync): StoreIdentity | undefined {
  if (!hasTable(database, 'store_identity')) return undefined;
  const [row] = rowsOf<IdentityRow>(database, SELECT_IDENTITY);
  return row && identityOfRow(row);
}

/** Whether there is a store. A file of 0 bytes is not a store: a first start that was interrupted leaves it. */
export function hasStore(file: string): boolean {
  requireAccess(file);
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * A folder that this user may not enter hides whether it has a store. So does a store that was started once as
 * root, and then as another user.
 */
export function requireAccess(file: string, remedy?: string): void {
  try {
    const exists = statSync(file, { throwIfNoEntry: false }) !== undefined;
    if (exists) accessSync(file, constants.R_OK);
  } catch (error) {
    throw unusableStore(`the store ${file} cannot be opened`, error, remedy);
  }
}

export function unusableStore(
  failed: string,
  cause: unknown,
  remedy = "--data must name a folder that this user can write to, with no other program's files in it",
): StoreUnusable {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreUnusable(`${failed} (${reason}): ${remedy}.`, { cause });
}

/** The file beside a store that has its id, and stays when the store is lost. */
const idFileOf = (file: string) => `${file.replace(/\.sqlite$/, '')}.store-id`;

/** Undefined also for an empty file: a loss of power may leave a name without its content. */
function findId(idFile: string): string | undefined {
  const isFile = statSync(idFile, { throwIfNoEntry: false })?.isFile() ?? false;
  const id = isFile ? readFileSync(idFile, 'utf8').trim() : '';
  return id === '' ? undefined : id;
}

/** Refuses to begin an empty store where a store was. */
export function refuseLost(file: string): void {
  const idFile = idFileOf(file);
  const id = hasStore(file) ? undefined : findId(idFile);
  if (id === undefined) return;
  throw new StoreFault(
    `store ${id} was here and its file is missing: restore a backup, or remove ${idFile} to begin a new one.`,
  );
}

/**
 * Refuses an open file that has another store than the id beside it, or none: a service that began an empty
 * catalogue there would look as if it worked. Returns this id. A store of an earlier version has none yet.
 */
export function requireStoreOf(file: string, database: DatabaseSync): string | undefined {
  const idFile = idFileOf(file);
  // Before the catalogue is read: another process may be creating the store, first the catalogue and then the id.
  const id = findId(idFile);
  if (id === undefined) return undefined;
  const remedy = `restore a backup, or remove ${idFile}`;
  if (!hasCatalogue(database)) {
    throw new StoreFault(
      `store ${id} was here, and ${file} has no catalogue: put the right file in place with its log ${file}-wal, ${remedy} to begin a new one.`,
    );
  }
  const found = findStoreIdentity(database)?.id ?? id;
  if (found !== id) {
    throw new StoreFault(
      `${file} is store ${found}, and store ${id} was here: put the right file in place, ${remedy} to use this one.`,
    );
  }
  return id;
}

/**
 * Writes the id beside a store, in place of a former one. To be called when the store is durable, with the path that the settings name:
 * it may be a symbolic link to a disk that is missing later.
 */
export function keepStoreId(
  file: string,
  identity: StoreIdentity | undefined,
  onWarning: (message: string) => void = () => undefined,
): void {
  const idFile = idFileOf(file);
  try {
    if (identity === undefined || findId(idFile) === identity.id) return;
    rmSync(idFile, { force: true });
    writeFileSync(idFile, `${identity.id}\n`, { mode: 0o644, flag: 'ax' });
    syncFile(idFile);
    syncName(idFile);
  } catch (error) {
    onWarning(`the id of the store cannot be written beside it (${String(error)})`);
  }
}

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreFault } from '../../domain/store.ts';
import type { StoreIdentity } from '../../domain/store-identity.ts';
import { identityOfRow, SELECT_IDENTITY, type IdentityRow } from '../rows.ts';
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
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The file beside a store that has its id, and stays when the store is lost. */
const idFileOf = (file: string) => `${file.replace(/\.sqlite$/, '')}.store-id`;

function findId(idFile: string): string | undefined {
  return existsSync(idFile) ? readFileSync(idFile, 'utf8').trim() : undefined;
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
 * Writes the id beside a store. To be called when the store is durable, with the path that the settings name:
 * it may be a symbolic link to a disk that is missing later.
 */
export function keepStoreId(
  file: string,
  identity: StoreIdentity | undefined,
  onWarning: (message: string) => void = () => undefined,
): void {
  const idFile = idFileOf(file);
  try {
    const former = findId(idFile);
    if (identity === undefined || former === identity.id) return;
    if (former !== undefined) {
      onWarning(`${idFile} had the id ${former}: it now has ${identity.id}`);
      rmSync(idFile);
    }
    writeFileSync(idFile, `${identity.id}\n`, { mode: 0o644, flag: 'ax' });
    syncFile(idFile);
    syncName(idFile);
  } catch (error) {
    onWarning(`the id of the store cannot be written beside it (${String(error)})`);
  }
}

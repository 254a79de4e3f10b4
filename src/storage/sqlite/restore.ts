import { existsSync, linkSync, realpathSync, renameSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import type { OnProgress } from '../copy.ts';
import type { Verification } from '../verify.ts';
import { copyStore } from './backup.ts';
import { openAsIs } from './connection.ts';
import { setLastId } from './copy.ts';
import { unmarkDamaged } from './damage.ts';
import { isCorrupt, isLocked, namedCause } from './errors.ts';
import { freeName } from './file-identity.ts';
import { refuseEmpty } from './file-kind.ts';
import { migrate } from './migrate.ts';
import { temporaryFile } from './new-file.ts';
import { beginTransaction } from './statements.ts';
import { syncName } from './sync.ts';
import { LAST_ID, openToRead, rowsOf } from './verify.ts';

/** How far new ids are above those of the backup if the former file cannot be read. */
const IDS_SKIPPED = 1_000_000n;

/** The highest id that was ever assigned, and when each key was revoked. */
interface Past {
  lastId: bigint;
  revocations: [revokedAt: bigint, id: string][];
}

export interface Restored {
  verification: Verification;
  /** Where the former file is now, if there was one. */
  setAside: string | undefined;
  /** False if the former file could not be read. */
  isPastKnown: boolean;
}

/**
 * Replaces the store with a backup. No id that the former file has assigned is assigned again, and every key
 * that it has revoked stays revoked. The former file is kept beside the new one.
 */
export async function restoreStore(
  file: string,
  backupFile: string,
  { idsAbove, onProgress }: { idsAbove: bigint | undefined; onProgress: OnProgress },
): Promise<Restored> {
  // Opened before anything is changed: it may be missing or belong to another program.
  using source = openToRead(backupFile);
  const realFile = existsSync(file) ? realpathSync(file) : file;
  using former = lockFormer(realFile);
  using partial = temporaryFile(`${realFile}.restoring`);
  const verification = await copyStore(source, partial.name, {
    onProgress,
    change: (copy) => {
      migrate(copy, backupFile);
      carryOver(copy, former.past, idsAbove);
    },
  });
  const setAside = replace(realFile, partial.name);
  return { verification, setAside, isPastKnown: former.past !== undefined };
}

function carryOver(copy: DatabaseSync, past: Past | undefined, idsAbove: bigint | undefined): void {
  using transaction = beginTransaction(copy);
  const [row] = rowsOf<[bigint]>(copy, `SELECT ${LAST_ID}`);
  const lastId = row?.[0] ?? 0n;
  const atLeast = [lastId, idsAbove ?? past?.lastId ?? lastId + IDS_SKIPPED, past?.lastId ?? 0n];
  const next = atLeast.reduce((highest, id) => (id > highest ? id : highest));
  setLastId(copy, next);
  const revoke = copy.prepare(
    'UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?',
  );
  for (const revocation of past?.revocations ?? []) revoke.run(...revocation);
  transaction.commit();
}

/**
 * Reads what must not be forgotten, empties the log, and keeps every other process out until it is disposed.
 * A file that cannot be read has nothing to lock.
 */
function lockFormer(file: string): Disposable & { past: Past | undefined } {
  if (!existsSync(file)) return { past: undefined, [Symbol.dispose]: () => undefined };
  let database: DatabaseSync | undefined;
  try {
    database = openAsIs(file);
    // This fails while any other connection is open, and removes the log otherwise.
    database.exec('PRAGMA journal_mode = DELETE');
    database.exec('BEGIN EXCLUSIVE');
    refuseEmpty(database, file);
    const [row] = rowsOf<[bigint]>(database, `SELECT ${LAST_ID}`);
    const revocations = rowsOf<[bigint, string]>(
      database,
      'SELECT revoked_at, id FROM api_keys WHERE revoked_at IS NOT NULL',
    );
    const open = database;
    return { past: { lastId: row?.[0] ?? 0n, revocations }, [Symbol.dispose]: () => open.close() };
  } catch (error) {
    database?.close();
    if (isLocked(error)) {
      throw new StoreUnusable(
        `${file} is in use: stop every service and command that uses it, then restore.`,
        { cause: error },
      );
    }
    if (!isCorrupt(error) && !(error instanceof StoreUnusable)) {
      const cause = namedCause(error, file);
      throw new Refusal('unavailable', `${file} cannot be replaced.`, { cause });
    }
    return { past: undefined, [Symbol.dispose]: () => undefined };
  }
}

/** At no moment is there no file at the path: a service would create an empty one. */
function replace(file: string, restored: string): string | undefined {
  const isThere = existsSync(file);
  const setAside = freeName(`${file}.before-restore`);
  if (isThere) linkSync(file, setAside);
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${setAside}${suffix}`);
  }
  // No loss of power may leave the former log beside the new file: SQLite would apply it.
  syncName(file);
  renameSync(restored, file);
  unmarkDamaged(file);
  syncName(file);
  return isThere ? setAside : undefined;
}

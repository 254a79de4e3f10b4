import { existsSync, realpathSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { FileReplaced, FileTruncated } from './errors.ts';
import { pragma } from './query.ts';

/** How long a process waits for another process that is renaming files. */
const LOCK_TIMEOUT_MS = 1_000;

interface FileId {
  dev: bigint;
  ino: bigint;
  birthtimeNs: bigint;
  size: bigint;
}

/** Which files a connection has open: the database, its log and its shared memory. */
export interface FileIdentity {
  /** The path that the settings name. */
  file: string;
  /** The same path without symbolic links. SQLite keeps the log beside this one. */
  realFile: string;
  database: FileId;
  log: FileId | undefined;
  sharedMemory: FileId | undefined;
}

/** The files at the path now, or undefined if there is no database. */
export function findIdentity(file: string): FileIdentity | undefined {
  const database = idOf(file);
  if (database === undefined) return undefined;
  const realFile = realpathSync(file);
  const [log, sharedMemory] = [idOf(`${realFile}-wal`), idOf(`${realFile}-shm`)];
  return { file, realFile, database, log, sharedMemory };
}

/**
 * Throws FileReplaced unless the path still leads to the files that are open: the next start must find them. A file that
 * became smaller was truncated, or another one was copied over it, unless SQLite counts fewer pages too: after VACUUM.
 */
export function requireInPlace(
  { file, realFile, ...opened }: FileIdentity,
  connection: DatabaseSync,
): void {
  const now = requireSame(file, opened.database);
  if (now !== undefined && now.size < opened.database.size && !hasShrunk(connection, opened)) {
    throw new FileTruncated(
      `${file} was truncated, or another file was copied over it: verify it, or restore a backup.`,
    );
  }
  opened.database.size = now?.size ?? 0n;
  requireSame(`${realFile}-wal`, opened.log);
  requireSame(`${realFile}-shm`, opened.sharedMemory);
}

/** Whether the header of the database, which an open connection keeps in memory, says that it is smaller than it was. */
function hasShrunk(
  connection: DatabaseSync,
  { database }: Pick<FileIdentity, 'database'>,
): boolean {
  try {
    const [pages, pageBytes] = [pragma(connection, 'page_count'), pragma(connection, 'page_size')];
    const bytes = BigInt(String(pages)) * BigInt(String(pageBytes));
    return bytes > 0n && bytes < database.size;
  } catch {
    return false;
  }
}

function requireSame(name: string, id: FileId | undefined): FileId | undefined {
  const now = idOf(name);
  // On a file system without shared memory, SQLite works without a log.
  const isUnchanged = id === undefined ? now === undefined : isSame(now, id);
  if (isUnchanged) return now;
  throw new FileReplaced(
    `${name} was deleted or replaced: put the right file in place, and start the service again.`,
  );
}

/** Whether the log and the shared memory that were opened still lie beside their own database. */
export function isBesideLog({ realFile, database }: FileIdentity): boolean {
  return isBornSame(idOf(realFile), database);
}

/**
 * Renames the log and the shared memory that are left where their database is no more: SQLite would apply that
 * log to the next file at this path.
 *
 * Only the files that this process had open are renamed, so never those of another database. Of several
 * processes, one renames: without the lock, the second could rename the log that a new start has just created.
 */
export function setLogAside(opened: FileIdentity): void {
  const { realFile, log, sharedMemory } = opened;
  const files = [
    [`${realFile}-wal`, log],
    [`${realFile}-shm`, sharedMemory],
  ] as const;
  const findLeft = () => files.filter(([name, id]) => isBornSame(idOf(name), id));
  if (isBesideLog(opened) || findLeft().length === 0) return;
  // SQLite's lock is released when its process ends, even by a crash.
  using lock = new DatabaseSync(`${realFile}-lock`, { timeout: LOCK_TIMEOUT_MS });
  lock.exec('BEGIN EXCLUSIVE');
  if (isBesideLog(opened)) return;
  for (const [name] of findLeft()) renameSync(name, freeName(`${name}.replaced`));
}

/** The name with the first number that makes it a new one. */
export function freeName(name: string): string {
  for (let number = 1; ; number += 1) {
    const candidate = `${name}-${number}`;
    if (!existsSync(candidate)) return candidate;
  }
}

function idOf(name: string): FileId | undefined {
  return statSync(name, { bigint: true, throwIfNoEntry: false });
}

/** For open files: the inode number of an open file is not reused. */
export function isSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** For closed files: their inode numbers may have been reused for new files. */
function isBornSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return isSame(one, other) && one?.birthtimeNs === other?.birthtimeNs;
}

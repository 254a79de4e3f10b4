import { existsSync, realpathSync, renameSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { FileReplaced, FileTruncated } from './errors.ts';
import { pragma } from './query.ts';

interface FileId {
  dev: bigint;
  ino: bigint;
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
  return isSame(idOf(realFile), database);
}

/**
 * Renames the log and the shared memory that are left where their database is no more: SQLite would apply that log to the
 * next file at this path. To be called while a connection has them open, so that no other file can have their numbers:
 * only the files of this process are renamed.
 */
export function setLogAside(opened: FileIdentity): void {
  if (isBesideLog(opened)) return;
  for (const [suffix, id] of [
    ['-wal', opened.log],
    ['-shm', opened.sharedMemory],
  ] as const) {
    const name = `${opened.realFile}${suffix}`;
    if (isSame(idOf(name), id)) renameSync(name, freeName(`${name}.replaced`));
  }
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

/** Whether two files have one number on one disk. That of an open file is not given to another one. */
export function isSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

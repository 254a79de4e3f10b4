import { existsSync, realpathSync, renameSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** How long a process waits for another one that is setting files aside. */
const LOCK_TIMEOUT_MS = 1_000;

interface FileId {
  dev: bigint;
  ino: bigint;
  birthtimeNs: bigint;
}

/** Which files a connection has open: the database, its log and its shared memory. */
export interface FileIdentity {
  /** The path that the settings name. */
  file: string;
  /** Where it leads; SQLite keeps the log beside this one. */
  realFile: string;
  database: FileId;
  log: FileId | undefined;
  sharedMemory: FileId | undefined;
}

/** The path no longer leads to the files that are open. */
export class FileReplaced extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FileReplaced';
  }
}

/** What is at the path now, or undefined where there is no file. */
export function identityOf(file: string): FileIdentity | undefined {
  const database = idOf(file);
  if (database === undefined) return undefined;
  const realFile = realpathSync(file);
  const [log, sharedMemory] = [idOf(`${realFile}-wal`), idOf(`${realFile}-shm`)];
  return { file, realFile, database, log, sharedMemory };
}

/** Throws unless the path still leads to the database that is open. */
export function requireSameDatabase({ file, database }: FileIdentity): void {
  const now = idOf(file);
  if (now === undefined) throw new FileReplaced(`${file} is not there any more`);
  if (!isSame(now, database)) throw new FileReplaced(`${file} is another file now`);
}

/** Throws unless a start that follows now would find what is in the open database and in its log. */
export function requireSameContent(opened: FileIdentity): void {
  requireSameDatabase(opened);
  requireSame(`${opened.realFile}-wal`, opened.log);
}

/** Throws unless another process that opens the path gets the very files that are open here. */
export function requireInPlace(opened: FileIdentity): void {
  requireSameContent(opened);
  requireSame(`${opened.realFile}-shm`, opened.sharedMemory);
}

function requireSame(name: string, id: FileId | undefined): void {
  const now = idOf(name);
  // Where a file system has no shared memory, SQLite works without a log.
  const isUnchanged = id === undefined ? now === undefined : isSame(now, id);
  if (!isUnchanged) throw new FileReplaced(`${name} was deleted or replaced`);
}

/** Whether both are the same database, also where one of them was closed meanwhile. */
export function isSameDatabase(one: FileIdentity, other: FileIdentity): boolean {
  return isBornSame(one.database, other.database);
}

/**
 * Renames the log and the shared memory that `old` has left beside another database: SQLite would apply
 * that log to it. Returns the new names.
 */
export function setAsideLeftovers(old: FileIdentity): string[] {
  return setAside(old.realFile, () => {
    const now = identityOf(old.file);
    if (now === undefined || now.realFile !== old.realFile) return [];
    const isOtherDatabase = !isSameDatabase(now, old);
    const isSameLog = isBornSame(now.log, old.log);
    const names: string[] = [];
    if (isOtherDatabase && isSameLog) names.push(`${old.realFile}-wal`);
    if ((isOtherDatabase || !isSameLog) && isBornSame(now.sharedMemory, old.sharedMemory)) {
      names.push(`${old.realFile}-shm`);
    }
    return names;
  });
}

/** Renames what a deleted database has left at the path where a new one is to be created. */
export function setAsideOrphans(file: string): string[] {
  return setAside(file, () =>
    existsSync(file) ? [] : [`${file}-wal`, `${file}-shm`].filter((name) => existsSync(name)),
  );
}

/**
 * Renames the files that `find` returns. It is called again under a lock: of several processes one
 * renames, and none of them renames a log that another has begun since.
 */
function setAside(file: string, find: () => string[]): string[] {
  if (find().length === 0) return [];
  // A lock of SQLite's ends with its process, however that ends.
  const lock = new DatabaseSync(`${file}-lock`, { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return find().map((name) => {
      const newName = freeName(name);
      renameSync(name, newName);
      return newName;
    });
  } finally {
    lock.close();
  }
}

function freeName(name: string): string {
  for (let number = 1; ; number += 1) {
    const candidate = `${name}.replaced-${number}`;
    if (!existsSync(candidate)) return candidate;
  }
}

function idOf(name: string): FileId | undefined {
  return statSync(name, { bigint: true, throwIfNoEntry: false });
}

/** For files that are open: the number of an open file is not given to another. */
function isSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** For files that were closed: their number may have been given to a new file. */
function isBornSame(one: FileId | undefined, other: FileId | undefined): boolean {
  return isSame(one, other) && one?.birthtimeNs === other?.birthtimeNs;
}

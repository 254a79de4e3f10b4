import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Refusal } from '../../domain/errors.ts';

/** The result codes of SQLite that need their own treatment. */
const CODE = {
  busy: 5,
  locked: 6,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** An input/output error with this detail: there is no space to enlarge the shared memory beside the log. */
const SHARED_MEMORY_SIZE = 4874;

/** The path no longer leads to the files that are open. */
export class FileReplaced extends Error {
  override readonly name: string = 'FileReplaced';
}

/** The database is in its place and smaller than it was. SQLite must not write its log to it any more. */
export class FileTruncated extends FileReplaced {
  override readonly name = 'FileTruncated';
}

/** Whether the file may be damaged. SQLite also reports input/output errors in this way. */
export function isCorrupt(error: unknown): boolean {
  return hasCode(error, CODE.corrupt, CODE.notADatabase);
}

/** Whether another connection has a lock. */
export function isLocked(error: unknown): boolean {
  return hasCode(error, CODE.busy, CODE.locked);
}

/** Whether SQLite has no room for more, or no id: it uses one code for both. */
export function isFull(error: unknown): boolean {
  return hasCode(error, CODE.full);
}

/** Whether SQLite could not create a file because the disk has room for no more of them, which it does not say. */
export function isOutOfInodes(error: unknown, file: string): boolean {
  if (!hasCode(error, CODE.cannotOpen)) return false;
  const { files, ffree } = statfsSync(dirname(file));
  // Some file systems have no fixed number of files, and report 0.
  return files > 0 && ffree === 0;
}

/** Whether the same call may succeed later, with the same settings. */
export function isTemporary(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'ENOSPC' || isLocked(error) || hasCode(error, CODE.ioError, CODE.full);
}

/** The error to report. SQLite calls a full disk an input/output error where its shared memory needs space. */
export function namedCause(error: unknown, file?: string): unknown {
  const { code, errcode } = error as { code?: string; errcode?: number };
  if (file !== undefined && isOutOfInodes(error, file)) {
    return new Error('the disk is full: it has room for no more files (df -i)', { cause: error });
  }
  const isDiskFull = code === 'ENOSPC' || errcode === SHARED_MEMORY_SIZE || isFull(error);
  return isDiskFull ? new Error('the disk is full', { cause: error }) : error;
}

/** SQLite does not say which file has failed. An error of another kind stays as it is. */
export function fileError(file: string, error: unknown, failed = 'cannot be read'): unknown {
  if (!isTemporary(error) && !('errcode' in (error as object))) return error;
  const what = isCorrupt(error) ? 'is damaged: restore another backup' : failed;
  return new Refusal('unavailable', `${file} ${what}.`, { cause: namedCause(error, file) });
}

function hasCode(error: unknown, ...codes: number[]): boolean {
  const { errcode = 0 } = error as { errcode?: number };
  // The lowest byte is the result code; the bytes above it give details.
  return codes.includes(errcode & 0xff);
}

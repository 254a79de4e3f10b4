import { statfsSync } from 'node:fs';
import { Refusal } from '../../domain/errors.ts';

/** The result codes of SQLite that need their own treatment. */
const CODE = {
  busy: 5,
  locked: 6,
  ioError: 10,
  corrupt: 11,
  full: 13,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  range: 25,
  notADatabase: 26,
} as const;

/** With less space than this, SQLite cannot even enlarge the shared memory beside its log. */
const FULL_DISK_BYTES_MAX = 64 * 1024;

/** The path no longer leads to the files that are open. */
export class FileReplaced extends Error {
  override readonly name = 'FileReplaced';
}

/** Whether the file may be damaged. SQLite also reports input/output errors in this way. */
export function isCorrupt(error: unknown): boolean {
  return hasCode(error, CODE.corrupt, CODE.notADatabase);
}

/** Whether another connection has a lock. */
export function isLocked(error: unknown): boolean {
  return hasCode(error, CODE.busy, CODE.locked);
}

/** Whether the same call may succeed later, with the same settings. */
export function isTemporary(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'ENOSPC' || isLocked(error) || hasCode(error, CODE.ioError, CODE.full);
}

/** The error to report for a file. SQLite calls a full disk an input/output error where its log needs space. */
export function namedCause(error: unknown, file: string): unknown {
  return isDiskFull(error, file) ? new Error('the disk is full', { cause: error }) : error;
}

function isDiskFull(error: unknown, file: string): boolean {
  const { code } = error as { code?: string };
  if (code === 'ENOSPC' || hasCode(error, CODE.full)) return true;
  if (!hasCode(error, CODE.ioError)) return false;
  try {
    const { bavail, bsize } = statfsSync(file);
    return bavail * bsize < FULL_DISK_BYTES_MAX;
  } catch {
    return false;
  }
}

/** Whether any other write would have failed too, because the file is at fault and not the write. */
export function isStoreError(error: unknown): boolean {
  // A system call fails where the path cannot be checked.
  if (error instanceof FileReplaced || 'syscall' in (error as object)) return true;
  // An error without a result code was thrown before the write reached SQLite.
  if (resultCode(error) === undefined) return false;
  return !hasCode(error, CODE.tooBig, CODE.constraint, CODE.mismatch, CODE.range);
}

function hasCode(error: unknown, ...codes: number[]): boolean {
  return codes.includes(resultCode(error) ?? 0);
}

function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  // The lowest byte is the result code; the bytes above it give details.
  return errcode === undefined ? undefined : errcode & 0xff;
}

export function unavailable(
  what: 'is not available' | 'cannot be read' | 'cannot be written',
  cause: unknown,
): Refusal {
  return new Refusal('unavailable', `The store ${what} right now; try again shortly.`, { cause });
}

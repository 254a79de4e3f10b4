// The log of SQLite, the write-ahead log (WAL), as a file, in its documented format: https://sqlite.org/fileformat2.html#walformat

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { beginTransaction } from './statements.ts';

/** The header has two random numbers, which are new whenever SQLite begins the log again. */
const HEADER_BYTES = 32;
/** How much is written and synced under one lock, so that other processes wait only for this much. */
const PORTION_BYTES = 1024 * 1024;

/**
 * Writes the log over itself and syncs it, so that what a start has found in it is on the disk.
 *
 * A sync alone is not enough. After a sync that failed, Linux marks the pages as clean: the commit was refused, but
 * the next start finds it in the memory of the system and counts it, the next sync has nothing to write, and a loss
 * of power would take it away, with everything that was acknowledged behind it. A new write makes the pages dirty.
 *
 * A checkpoint would do the same only if no export, backup or other worker were reading an older snapshot. The same
 * bytes can be written while others read. The write lock keeps other processes from appending to the log and from
 * beginning it again meanwhile; it is released between portions, so that a log which has grown during a long backup
 * does not stop the workers that run. If one of them begins the log again, all of it was written to the database and
 * synced by that checkpoint. Every process does this, because whoever opened the file first may have been a
 * command, which is still reading. If a sync fails here, nothing was acknowledged: the next start does it again.
 */
export function writeWalAgain(database: DatabaseSync, wal: string): void {
  const descriptor = openSync(wal, 'r+');
  try {
    const size = fstatSync(descriptor).size;
    const begin = readAt(descriptor, 0, HEADER_BYTES);
    for (let at = 0; at < size; at += PORTION_BYTES) {
      {
        using _ = beginTransaction(database);
        if (!readAt(descriptor, 0, HEADER_BYTES).equals(begin)) return;
        const portion = readAt(descriptor, at, Math.min(PORTION_BYTES, size - at));
        writeSync(descriptor, portion, 0, portion.length, at);
      }
      fsyncSync(descriptor);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Returns fewer bytes at the end of the file. */
function readAt(descriptor: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, at));
}

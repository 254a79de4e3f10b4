// The log of SQLite as a file. Its format is documented (https://sqlite.org/fileformat2.html#walformat): a header, and
// a frame for each changed page. A checksum runs through all of them, and a start reads the frames up to the first
// that does not continue it.

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { endianness } from 'node:os';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { FileTruncated } from './errors.ts';
import { beginTransaction } from './statements.ts';

/** The header has two random numbers, which are new whenever SQLite begins the log again. Each frame repeats them. */
const HEADER_BYTES = 32;
const HEADER_OFFSET = { pageBytes: 8, salts: 16, checksum: 24 };
const FRAME_HEADER_BYTES = 24;
const FRAME_OFFSET = { salts: 8, checksum: 16 };
/** The magic number tells the byte order of the checksum, which must be that of this machine. */
const MAGIC = endianness() === 'LE' ? 0x377f0682 : 0x377f0683;
/** How many frames are read at once. */
const FRAMES_READ = 64;
/** Another process may begin the log again while it is read. After this many attempts it counts as truncated. */
const ATTEMPTS_MAX = 10;
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
export function writeLogAgain(database: DatabaseSync, log: string): void {
  const descriptor = openSync(log, 'r+');
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

/**
 * Reads from the log what was committed, as the next start will. Somebody may truncate the log while it is used:
 * SQLite does not notice, writes the next commit where the log would have continued, and leaves zeros before it, at
 * which the next start would stop. Only what follows the last check is read, and the last frame before that: zeros
 * reach up to the next commit, so they cover at least that frame.
 */
export class LogCheck {
  readonly #file: string;
  readonly #descriptor: number;
  readonly #count: StatementSync;
  /** The header to which the counts below belong. */
  #header: Buffer = Buffer.alloc(0);
  /** How many frames were read, and the checksum of all but the last of them. */
  #frames = 0;
  #checksum: Checksum = [0, 0];
  #buffer: Buffer = Buffer.alloc(0);

  constructor(database: DatabaseSync, file: string) {
    this.#file = file;
    this.#descriptor = openSync(file, 'r');
    // Despite its name it writes nothing. It returns how many frames SQLite counts.
    this.#count = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /** Throws unless the log has every frame that SQLite counts. To be called after a commit. Returns their number. */
  requireComplete(): number {
    for (let attempt = 1; ; attempt += 1) {
      const [, frames] = this.#count.get() as unknown as [bigint, bigint];
      if (frames <= 0n || this.#has(Number(frames))) return Number(frames);
      if (attempt === ATTEMPTS_MAX) throw this.#truncated();
    }
  }

  /**
   * Throws if the log has lost what the last check has read. To be called before a commit, under the write lock: the
   * commit may begin a log again that another process has written to the database with its zeros.
   */
  requireUnharmed(): void {
    if (this.#header.length === 0 || this.#has(0)) return;
    // Another process may have emptied the log. If it was not SQLite, the check after the commit finds it.
    if (fstatSync(this.#descriptor).size > 0) throw this.#truncated();
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #truncated(): FileTruncated {
    return new FileTruncated(
      `${this.#file} was truncated: what was only in this log is lost; start the service again.`,
    );
  }

  /** Whether the log has this many frames. The last frame that was read before is read again. */
  #has(frames: number): boolean {
    const header = readAt(this.#descriptor, 0, HEADER_BYTES);
    if (!header.equals(this.#header) && !this.#begin(header)) return false;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(HEADER_OFFSET.pageBytes);
    if (this.#buffer.length < FRAMES_READ * frameBytes) {
      this.#buffer = Buffer.from(new ArrayBuffer(FRAMES_READ * frameBytes));
    }
    let [at, checksum] = [Math.max(0, this.#frames - 1), this.#checksum];
    for (const end = Math.max(frames, this.#frames); at < end;) {
      const bytes = this.#buffer.subarray(0, Math.min(FRAMES_READ, end - at) * frameBytes);
      const read = readSync(
        this.#descriptor,
        bytes,
        0,
        bytes.length,
        HEADER_BYTES + at * frameBytes,
      );
      if (read < bytes.length) return false;
      for (let from = 0; from < bytes.length; from += frameBytes, at += 1) {
        const next = checksumAfter(checksum, bytes.subarray(from, from + frameBytes), header);
        if (next === undefined) return false;
        [this.#frames, this.#checksum] = [at + 1, checksum];
        checksum = next;
      }
    }
    return true;
  }

  /** The log was begun again. Returns false if this is not the header of a log. */
  #begin(header: Buffer): boolean {
    if (header.length < HEADER_BYTES || header.readUInt32BE(0) !== MAGIC) return false;
    const checksum = sum([0, 0], header, 0, HEADER_OFFSET.checksum);
    if (!isAt(header, HEADER_OFFSET.checksum, checksum)) return false;
    [this.#header, this.#frames, this.#checksum] = [header, 0, checksum];
    return true;
  }
}

/** Two integers of 32 bits. */
type Checksum = [number, number];

/** The checksum with a frame, or undefined if the frame does not continue the log. */
function checksumAfter(before: Checksum, frame: Buffer, header: Buffer): Checksum | undefined {
  for (const word of [0, 4]) {
    const salt = header.readInt32BE(HEADER_OFFSET.salts + word);
    if (frame.readInt32BE(FRAME_OFFSET.salts + word) !== salt) return undefined;
  }
  const begun = sum(before, frame, 0, FRAME_OFFSET.salts);
  const checksum = sum(begun, frame, FRAME_HEADER_BYTES, frame.length);
  return isAt(frame, FRAME_OFFSET.checksum, checksum) ? checksum : undefined;
}

function isAt(bytes: Buffer, offset: number, [one, two]: Checksum): boolean {
  return bytes.readInt32BE(offset) === one && bytes.readInt32BE(offset + 4) === two;
}

/** The checksum of the log as the format defines it, continued by these bytes. */
function sum([one, two]: Checksum, bytes: Buffer, from: number, to: number): Checksum {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + from, (to - from) / 4);
  let [first, second] = [one, two];
  for (let at = 0; at < words.length; at += 2) {
    first = (first + (words[at] ?? 0) + second) | 0;
    second = (second + (words[at + 1] ?? 0) + first) | 0;
  }
  return [first, second];
}

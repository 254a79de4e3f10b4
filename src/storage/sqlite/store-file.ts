import type { DatabaseSync } from 'node:sqlite';
import { StoreUnusable } from '../../domain/store.ts';
import { unfinishedCopy } from '../migrate.ts';
import { openStoreFile, refuseForeign } from './connection.ts';
import { unavailable } from './faults.ts';
import {
  identityOf,
  isSameDatabase,
  requireInPlace,
  setAsideLeftovers,
  type FileIdentity,
} from './identity.ts';
import { prepareReads, type Reads } from './reads.ts';
import { unfinishedCopyOf } from './schema.ts';
import { WriteQueue } from './write-queue.ts';

/** How often the path is looked at while nobody reads. */
const LOOK_INTERVAL_MS = 1_000;
/**
 * How long one look at the path serves the reads: for this long a read may still come from a file that
 * was replaced. Three calls of stat for each read would cost more than the read.
 */
const LOOK_VALID_MS = 10;
/** A file that cannot be used is not opened more often than this. */
const REOPEN_INTERVAL_MS = 100;

/** The files as they were opened: a connection that reads, and a thread that writes. */
interface OpenFile {
  identity: FileIdentity;
  database: DatabaseSync;
  reads: Reads;
  writes: WriteQueue;
}

/**
 * Keeps the store open, and open on what its path leads to. Where the file was deleted, replaced or
 * damaged, both connections are closed and every call is refused until a good file is there.
 */
export class StoreFile {
  readonly #file: string;
  readonly #onWarning: (message: string) => void;
  readonly #timer: NodeJS.Timeout;
  #open: OpenFile | undefined;
  #isLookValid = false;
  /** How many files were opened so far: the versions of two files must differ. */
  #openings = 0;
  #fault = '';
  /** What was open before, and what of it was found to be damaged. */
  #left: FileIdentity | undefined;
  #damaged: FileIdentity | undefined;
  /** The thread that still has a lost file open; none is opened before it has ended. */
  #endingWrites: WriteQueue | undefined;
  #isClosed = false;

  constructor(file: string, onWarning: (message: string) => void) {
    this.#file = file;
    this.#onWarning = onWarning;
    this.#open = this.#openFile({ mayCreate: true });
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS).unref();
  }

  get openings(): number {
    return this.#openings;
  }

  /** The open file; a Refusal where there is none. */
  current(): OpenFile {
    if (!this.#isLookValid) this.look();
    if (this.#open === undefined) throw unavailable(new Error(this.#fault));
    return this.#open;
  }

  /** Lets go of a file that is not at the path any more, and opens a good one that is there. */
  look(): void {
    if (this.#isClosed) return;
    this.#isLookValid = true;
    const validMs = this.#open === undefined ? REOPEN_INTERVAL_MS : LOOK_VALID_MS;
    setTimeout(() => {
      this.#isLookValid = false;
    }, validMs).unref();
    if (this.#open === undefined) {
      this.#reopen();
      return;
    }
    try {
      requireInPlace(this.#open.identity);
    } catch (error) {
      this.#letGo(reasonOf(error));
    }
  }

  /** Nothing is read from a damaged file or written to it any more. */
  setDamaged(reason: string): void {
    if (this.#open === undefined) return;
    this.#damaged = this.#open.identity;
    this.#letGo(`${this.#file} is damaged (${reason})`);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosed = true;
    const open = this.#open;
    this.#open = undefined;
    this.#fault = 'the store is closed';
    await (open?.writes ?? this.#endingWrites)?.close();
    if (open?.database.isOpen === true) open.database.close();
    try {
      // The next start would apply the log of this file to the one that is there now.
      this.#setAside(open?.identity ?? this.#left);
    } catch (error) {
      this.#onWarning(`the log beside ${this.#file} may be of another file: ${reasonOf(error)}`);
    }
  }

  #openFile({ mayCreate }: { mayCreate: boolean }): OpenFile {
    const { database, identity } = openStoreFile(this.#file, { mayCreate });
    try {
      const source = unfinishedCopyOf(database);
      if (source !== undefined) throw unfinishedCopy(this.#file, source);
      database.exec('PRAGMA query_only = ON');
      const reads = prepareReads(database);
      const writes = new WriteQueue(identity, {
        onFileFault: (fault, isCorrupt) => {
          if (isCorrupt) this.setDamaged(fault);
          else this.look();
        },
        onStuck: () => this.#onWarning('the disk does not confirm commits: writes are refused'),
      });
      this.#openings += 1;
      return { identity, database, reads, writes };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #letGo(reason: string): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#left = open.identity;
    this.#fault = reason;
    this.#onWarning(
      `${reason}: reads and writes are refused until a good file is at ${this.#file}`,
    );
    open.database.close();
    this.#endingWrites = open.writes;
    void open.writes.discard(new Error(reason)).finally(() => {
      this.#endingWrites = undefined;
    });
  }

  /** Both connections must be closed before: within a process SQLite shares what it knows of an open file. */
  #reopen(): void {
    if (this.#endingWrites !== undefined) return;
    try {
      const before = identityOf(this.#file);
      if (before === undefined) throw new StoreUnusable(`${this.#file} is not there`);
      if (this.#damaged !== undefined && isSameDatabase(before, this.#damaged)) return;
      refuseForeign(this.#file);
      this.#setAside(this.#left);
      this.#open = this.#openFile({ mayCreate: false });
      this.#damaged = undefined;
      this.#onWarning(`the store is open again: ${this.#file}`);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== this.#fault) this.#onWarning(`the store stays closed: ${reason}`);
      this.#fault = reason;
    }
  }

  #setAside(left: FileIdentity | undefined): void {
    if (left === undefined) return;
    for (const name of setAsideLeftovers(left)) {
      this.#onWarning(`${name} is what the former file has left, and was set aside`);
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

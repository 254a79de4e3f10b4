import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { gauge, type Figure } from '../../ops/metrics.ts';
import { StoreUnusable } from '../../domain/store.ts';
import {
  findIdentity,
  isSameDatabase,
  openStoreFile,
  requireInPlace,
  setAsideLeftovers,
  type FileIdentity,
} from './connection.ts';
import { unavailable } from './errors.ts';
import { refuseForeign } from './file-kind.ts';
import { prepareReads, type Reads } from './statements.ts';
import { WriterClient } from './writer-client.ts';

/** How often the path is checked while nobody reads. */
const CHECK_INTERVAL_MS = 1_000;
/**
 * How long reads rely on one check of the path: for this long a read may still come from a file that was
 * replaced. Three calls of stat for each read would cost more than the read.
 */
const CHECK_VALID_MS = 10;
/** How often a file that cannot be used is tried again. */
const REOPEN_INTERVAL_MS = 100;

/** The open file: a connection that reads, and a thread that writes. */
interface OpenFile {
  identity: FileIdentity;
  database: DatabaseSync;
  reads: Reads;
  writer: WriterClient;
}

/**
 * Keeps the store open on the file that its path leads to. When that file was deleted, replaced or damaged,
 * both connections are closed, and every call is refused until a good file is there.
 */
export class StoreFile {
  readonly #file: string;
  readonly #onWarning: (message: string) => void;
  readonly #timer: NodeJS.Timeout;
  #open: OpenFile | undefined;
  #nextCheckMs = 0;
  /** How many times a file was opened: the versions of two files must differ. */
  #openings = 0;
  /** Why no file is open. */
  #fault = '';
  #lastOpen: FileIdentity | undefined;
  #damaged: FileIdentity | undefined;
  /** The thread that still has the last file open. No file is opened before it has ended. */
  #endingWriter: WriterClient | undefined;
  #isClosed = false;

  constructor(file: string, onWarning: (message: string) => void) {
    this.#file = file;
    this.#onWarning = onWarning;
    this.#open = this.#openFile({ mayCreate: true });
    this.#timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  get openings(): number {
    return this.#openings;
  }

  /** The open file, for reads. Throws a Refusal if no file is open. */
  current(): OpenFile {
    if (performance.now() >= this.#nextCheckMs) this.check();
    if (this.#open === undefined) throw unavailable('is not available', new Error(this.#fault));
    return this.#open;
  }

  /** The writer of the open file. Its thread checks the path at every commit, so it is not checked here. */
  get writer(): WriterClient {
    return (this.#open ?? this.current()).writer;
  }

  /** While no file is open, there are no writes to count. */
  figures(): Figure[] {
    return [
      ...(this.#open?.writer.figures() ?? []),
      gauge('petstore_wal_size_bytes', 'Size of the log beside the file.', this.#logBytes, 'max'),
    ];
  }

  get #logBytes(): number {
    try {
      return statSync(`${this.#file}-wal`).size;
    } catch {
      return 0;
    }
  }

  /** Closes a file that is no longer at the path, and opens a good file that is there. */
  check(): void {
    if (this.#isClosed) return;
    const validMs = this.#open === undefined ? REOPEN_INTERVAL_MS : CHECK_VALID_MS;
    this.#nextCheckMs = performance.now() + validMs;
    if (this.#open === undefined) {
      this.#reopen();
      return;
    }
    try {
      requireInPlace(this.#open.identity);
    } catch (error) {
      this.#abandon(reasonOf(error));
    }
  }

  /** Nothing more is read from a damaged file or written to it. */
  setDamaged(reason: string): void {
    if (this.#open === undefined) return;
    this.#damaged = this.#open.identity;
    this.#abandon(`${this.#file} is damaged (${reason})`);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosed = true;
    const open = this.#open;
    this.#open = undefined;
    this.#fault = 'the store is closed';
    await (open?.writer ?? this.#endingWriter)?.close();
    if (open?.database.isOpen === true) open.database.close();
    try {
      // Otherwise the next start would apply the log of this file to the file that is there now.
      this.#setAside(open?.identity ?? this.#lastOpen);
    } catch (error) {
      this.#onWarning(`the log beside ${this.#file} may be of another file: ${reasonOf(error)}`);
    }
  }

  #openFile({ mayCreate }: { mayCreate: boolean }): OpenFile {
    const { database, identity } = openStoreFile(this.#file, { mayCreate });
    try {
      database.exec('PRAGMA query_only = ON');
      const reads = prepareReads(database);
      const writer = new WriterClient(identity, {
        onStoreError: (message, isCorrupt) => {
          if (isCorrupt) this.setDamaged(message);
          else this.check();
        },
        onStuck: () => this.#onWarning('the disk does not confirm commits: writes are refused'),
      });
      this.#openings += 1;
      return { identity, database, reads, writer };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #abandon(reason: string): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#lastOpen = open.identity;
    this.#fault = reason;
    this.#onWarning(
      `${reason}: reads and writes are refused until a good file is at ${this.#file}`,
    );
    open.database.close();
    this.#endingWriter = open.writer;
    void open.writer.discard(new Error(reason)).finally(() => {
      this.#endingWriter = undefined;
    });
  }

  /** Both connections must be closed before: within a process, SQLite shares its state of an open file. */
  #reopen(): void {
    if (this.#endingWriter !== undefined) return;
    try {
      const found = findIdentity(this.#file);
      if (found === undefined) throw new StoreUnusable(`${this.#file} is not there`);
      if (this.#damaged !== undefined && isSameDatabase(found, this.#damaged)) return;
      refuseForeign(this.#file);
      this.#setAside(this.#lastOpen);
      this.#open = this.#openFile({ mayCreate: false });
      this.#damaged = undefined;
      this.#onWarning(`the store is open again: ${this.#file}`);
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== this.#fault) this.#onWarning(`the store stays closed: ${reason}`);
      this.#fault = reason;
    }
  }

  #setAside(last: FileIdentity | undefined): void {
    if (last === undefined) return;
    for (const name of setAsideLeftovers(last)) {
      this.#onWarning(`a file that the former database left behind was renamed to ${name}`);
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

// The writer thread: the only place that changes the file. It takes one batch at a time, applies it in
// one transaction, and responds once the commit is on the disk; waiting for the disk is all its own.

import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_TIMEOUT_MS, openConnection } from './connection.ts';
import { isCorrupt } from './faults.ts';
import {
  FileReplaced,
  requireInPlace,
  requireSameContent,
  requireSameDatabase,
  type FileIdentity,
} from './identity.ts';
import { prepareWrites, type Writes } from './writes.ts';

/** One write: the name of a function of Writes, and what to call it with. */
export type Write = {
  [Name in keyof Writes]: { name: Name; with: Parameters<Writes[Name]> };
}[keyof Writes];

/** A fault of the file is not of this write: any other write would have met it too. */
export type Outcome = { value: unknown } | { fault: string; of: 'write' | 'file' | 'corrupt file' };

export interface WriterData {
  /** The files that the store has open; the writer opens no others. */
  opened: FileIdentity;
  /** 1 while the thread is inside SQLite, where only the disk can end its wait. */
  isBusy: Int32Array;
}

/** After so long without a write the log is emptied into the database. */
const IDLE_MS = 1_000;

if (parentPort === null) throw new Error('writer.ts is the inside of a worker thread');
const port = parentPort;
const { opened, isBusy } = workerData as WriterData;
const { database, writes } = busily(open);
const checkpoint = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
const idle = setTimeout(() => busily(emptyLog), IDLE_MS);

port.on('message', (batch: Write[] | 'close') => {
  if (batch === 'close') {
    clearTimeout(idle);
    busily(() => database.close());
    port.close();
    return;
  }
  port.postMessage(busily(() => applyBatch(batch)));
  idle.refresh();
});

function busily<Result>(work: () => Result): Result {
  Atomics.store(isBusy, 0, 1);
  try {
    return work();
  } finally {
    Atomics.store(isBusy, 0, 0);
    Atomics.notify(isBusy, 0);
  }
}

function open() {
  requireInPlace(opened);
  const connection = openConnection(opened.file);
  const prepared = prepareWrites(connection);
  // The statements have read the schema: from here on the connection has its log open too.
  requireInPlace(opened);
  return { database: connection, writes: prepared };
}

/** An empty log takes no room, and there is nothing in it that a later start could apply to another file. */
function emptyLog(): void {
  try {
    requireInPlace(opened);
    // Where others read or write at this moment, the next batch must not wait for them.
    database.exec('PRAGMA busy_timeout = 0');
    const row = checkpoint.get() as unknown as [isBusy: bigint];
    if (row[0] !== 0n) idle.refresh();
  } catch {
    // The next batch meets the same fault and reports it.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

function applyBatch(batch: Write[]): Outcome[] {
  try {
    return inTransaction(() => batch.map((write) => ({ value: apply(write) })));
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const of = faultOf(error);
    // Nothing of the batch was kept. Alone, a faulty write fails without its neighbours; but where the
    // file is at fault, each of them would only wait for it once more.
    if (batch.length === 1 || of !== 'write') return batch.map(() => ({ fault, of }));
    return batch.flatMap((write) => applyBatch([write]));
  }
}

/** SQLite's own numbers; what carries none was thrown before SQLite saw the write. */
const WRITE_FAULTS = { tooBig: 18, constraint: 19, mismatch: 20, range: 25 };

function faultOf(error: unknown): 'write' | 'file' | 'corrupt file' {
  if (error instanceof FileReplaced) return 'file';
  if (isCorrupt(error)) return 'corrupt file';
  const { errcode } = error as { errcode?: number };
  // The lowest byte is the kind of the fault, those above it tell more about it.
  const isOfWrite = errcode === undefined || Object.values(WRITE_FAULTS).includes(errcode & 0xff);
  return isOfWrite ? 'write' : 'file';
}

function inTransaction<Result>(work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    requireSameDatabase(opened);
    database.exec('COMMIT');
    // Only what the next start will find may be acknowledged.
    requireSameContent(opened);
    return result;
  } catch (error) {
    // SQLite has already rolled back by itself after some faults, a full disk among them.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function apply(write: Write): unknown {
  const perform = writes[write.name] as (...values: unknown[]) => unknown;
  return perform(...write.with);
}

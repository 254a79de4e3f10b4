// The writer thread: the only place that changes the file. It takes one batch at a time, applies it in
// one transaction, and answers once the commit is on the disk; waiting for the disk is all its own.

import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './connection.ts';
import { prepareWrites, type Writes } from './writes.ts';

/** One write: the name of a function of Writes, and what to call it with. */
export type Write = {
  [Name in keyof Writes]: { name: Name; with: Parameters<Writes[Name]> };
}[keyof Writes];

/** A fault of the file is none of the write: any other write would have met it too. */
export type Outcome = { value: unknown } | { fault: string; isOfFile: boolean };

if (parentPort === null) throw new Error('writer.ts is the inside of a worker thread');
const port = parentPort;
const database = openConnection((workerData as { file: string }).file);
const writes = prepareWrites(database);

port.on('message', (batch: Write[] | 'close') => {
  if (batch === 'close') {
    database.close();
    port.close();
    return;
  }
  port.postMessage(applyBatch(batch));
});

function applyBatch(batch: Write[]): Outcome[] {
  try {
    return inTransaction(() => batch.map((write) => ({ value: apply(write) })));
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    // Nothing of the batch was kept. Alone, a faulty write fails without its neighbours; but where the
    // file is at fault, each of them would only wait for it once more.
    const isOfFile = isFaultOfFile(error);
    if (batch.length === 1 || isOfFile) return batch.map(() => ({ fault, isOfFile }));
    return batch.flatMap((write) => applyBatch([write]));
  }
}

/** SQLite's own numbers; what carries none was thrown before SQLite saw the write. */
const WRITE_FAULTS = { tooBig: 18, constraint: 19, mismatch: 20, range: 25 };

function isFaultOfFile(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  // The lowest byte is the kind of the fault, those above it tell more about it.
  return errcode !== undefined && !Object.values(WRITE_FAULTS).includes(errcode & 0xff);
}

function inTransaction<Result>(work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
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

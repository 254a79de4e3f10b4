// The writer thread: the only code that changes the database. It applies one batch at a time in one
// transaction, and replies once the commit is on the disk, so that the main thread never waits for it.

import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_TIMEOUT_MS, openConnection } from './connection.ts';
import { findFault, markDamaged } from './damage.ts';
import { isCorrupt, isLocked, namedCause } from './errors.ts';
import { isBesideLog, requireInPlace, type FileIdentity } from './file-identity.ts';
import { writeLogAgain } from './log.ts';
import { beginTransaction, prepareWrites, type Writes } from './statements.ts';

/** One write: the name of a function of Writes, and its arguments. */
export type Write = {
  [Name in keyof Writes]: { name: Name; with: Parameters<Writes[Name]> };
}[keyof Writes];

/** The writes of one transaction. */
export interface Batch {
  /** The animals of all creates without a claim, as `rowsAsJson` writes them: they share one statement. */
  pets: string;
  others: Write[];
}

/** The id of the last of the animals, and the results of the other writes in their order; or why the batch failed. */
export type Reply =
  { lastPetId: bigint; results: unknown[] } | { error: string; isCorrupt: boolean };

/** What a check has found. A file with a fault is checked again, unless it is proven to be damaged. */
export interface CheckResult {
  fault: string | undefined;
  isDamaged: boolean;
}

export interface WriterData {
  /** The files that the store has open; the writer opens no others. */
  opened: FileIdentity;
  /** 1 while the thread is inside SQLite, where it cannot be interrupted. */
  isBusy: Int32Array;
}

/** After this time without a write, the log is emptied into the database. */
const IDLE_MS = 1_000;
/** How often a file that is suspected to be damaged is checked. */
const CHECK_INTERVAL_MS = 2_000;

if (parentPort === null) throw new Error('writer.ts must run in a worker thread');
const port = parentPort;
const { opened, isBusy } = workerData as WriterData;
const { database, writes } = whileBusy(open);
const checkpoint = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
const idleTimer = setTimeout(() => whileBusy(emptyLog), IDLE_MS);
let checkTimer: NodeJS.Timeout | undefined;
let isLogKept = false;

try {
  whileBusy(keepLog);
} catch (error) {
  // Another program has locked the file: the first batch tries again. Any other error ends the process.
  if (!isLocked(error)) throw error;
}
port.postMessage('open');
port.on('message', (message: Batch | 'check' | 'close') => {
  if (message === 'close') close();
  else if (message === 'check') checkFile({ wasDamaged: false });
  else {
    port.postMessage(whileBusy(() => applyBatch(message)));
    idleTimer.refresh();
  }
});

function whileBusy<Result>(work: () => Result): Result {
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
  // Preparing has read the schema: from now on the connection has its log open too.
  requireInPlace(opened);
  return { database: connection, writes: prepared };
}

/** What the start has found in the log must be on the disk before anything is acknowledged. */
function keepLog(): void {
  if (isLogKept) return;
  if (opened.log !== undefined) writeLogAgain(database, `${opened.realFile}-wal`);
  isLogKept = true;
}

function close(): void {
  whileBusy(() => {
    // SQLite itself does this only for a database that is still in its place.
    emptyLog();
    database.close();
  });
  clearTimeout(idleTimer);
  clearTimeout(checkTimer);
  port.close();
}

/** Damage is proven only if two checks find it: a disk that fails for a moment may look the same. */
function checkFile({ wasDamaged }: { wasDamaged: boolean }): void {
  const fault = whileBusy(() => findFault(opened.realFile));
  const isDamaged = wasDamaged && fault?.isReadable === true;
  if (isDamaged) markDamaged(opened, fault.reason);
  else if (fault !== undefined) {
    const again = () => checkFile({ wasDamaged: fault.isReadable });
    checkTimer = setTimeout(again, CHECK_INTERVAL_MS);
  }
  port.postMessage({ fault: fault?.reason, isDamaged } satisfies CheckResult);
}

/** An empty log takes no space and holds nothing that a later start could apply to another file. */
function emptyLog(): void {
  try {
    // A process that finds this database with another log may be using it. One that was moved away is ours.
    if (isBesideLog(opened)) requireInPlace(opened);
    // If other processes are reading or writing now, the next batch must not wait for them.
    database.exec('PRAGMA busy_timeout = 0');
    const row = checkpoint.get() as unknown as [isBusy: bigint];
    if (row[0] !== 0n) idleTimer.refresh();
  } catch {
    // The next batch meets the same error and reports it.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

function applyBatch({ pets, others }: Batch): Reply {
  try {
    keepLog();
    using transaction = beginTransaction(database);
    const lastPetId = writes.createPets(pets);
    const results = others.map(apply);
    requireInPlace(opened);
    transaction.commit();
    // Only what the next start will find may be acknowledged.
    requireInPlace(opened);
    return { lastPetId, results };
  } catch (error) {
    const cause = namedCause(error);
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { error: reason, isCorrupt: isCorrupt(error) };
  }
}

function apply(write: Write): unknown {
  const perform = writes[write.name] as (...values: unknown[]) => unknown;
  return perform(...write.with);
}

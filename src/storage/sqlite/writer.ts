// The writer thread: the only code that changes the database. It applies one batch at a time in one
// transaction, and replies once the commit is on the disk, so that the main thread never waits for it.

import { parentPort, workerData } from 'node:worker_threads';
import { BUSY_TIMEOUT_MS, openConnection } from './connection.ts';
import { INT64_MAX } from '../../domain/int64.ts';
import { FileTruncated, isCorrupt, isFull, isLocked, namedCause } from './errors.ts';
import { isBesideLog, requireInPlace, type FileIdentity } from './file-identity.ts';
import { writeWalAgain } from './wal.ts';
import { beginTransaction, LAST_ID, prepareWrites, type Writes } from './statements.ts';

/** One write: the name of a function of Writes, and its arguments. */
export type Write = {
  [Name in keyof Writes]: { name: Name; args: Parameters<Writes[Name]> };
}[keyof Writes];

/** The writes of one transaction. */
export interface Batch {
  /** The animals of all creates without a claim, as `rowsAsJson` writes them: they share one statement. */
  pets: string;
  others: Write[];
}

/** The id of the last of the animals, and the results of the other writes in their order; or why the batch failed. */
export type Reply = { lastPetId: bigint; results: unknown[] } | Failure;

export interface Failure {
  error: string;
  /** `locked`: another program has a lock, which it may end soon. `disk`: also a file that was replaced. */
  kind: 'locked' | 'malformed' | 'truncated' | 'disk';
}

/** After this time without a write, the log is emptied into the database. */
const IDLE_MS = 1_000;
/** A log with this many frames is written to the database: 4 MB, the default of SQLite. */
const CHECKPOINT_FRAMES = 1_000n;
const NO_IDS_LEFT = `no ids are left after ${INT64_MAX}, which was inserted by hand: docs/troubleshooting.md says what to do`;

if (parentPort === null) throw new Error('writer.ts must run in a worker thread');
const port = parentPort;
/** The files that the store has open; this thread opens no others. */
const opened = workerData as FileIdentity;
const { database, writes } = open();
// Despite its name it writes nothing. It returns how many frames the log has.
const countFrames = database.prepare('PRAGMA wal_checkpoint(NOOP)');
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
const truncate = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
const lastId = database.prepare(`SELECT ${LAST_ID}`);
const idleTimer = setTimeout(emptyLog, IDLE_MS);
let isLogKept = false;

try {
  keepLog();
} catch (error) {
  // Another program has locked the file: the first batch tries again. Any other error ends the process.
  if (!isLocked(error)) throw error;
}
port.postMessage('open');
port.on('message', (message: Batch | 'close') => {
  if (message === 'close') close();
  else {
    const reply = applyBatch(message);
    port.postMessage(reply);
    if ('results' in reply) shortenLog();
    idleTimer.refresh();
  }
});

function open() {
  const connection = openConnection(opened.file);
  // SQLite would do it inside of COMMIT, before the commit is acknowledged.
  connection.exec('PRAGMA wal_autocheckpoint = 0');
  // This reads the schema: from now on the connection has its log open too.
  const prepared = prepareWrites(connection);
  requireInPlace(opened, connection);
  return { database: connection, writes: prepared };
}

/** What the start has found in the log must be on the disk before anything is acknowledged. */
function keepLog(): void {
  if (isLogKept) return;
  if (opened.log !== undefined) writeWalAgain(database, `${opened.realFile}-wal`);
  isLogKept = true;
}

function close(): void {
  // SQLite itself does this only for a database that is still in its place.
  emptyLog();
  database.close();
  clearTimeout(idleTimer);
  port.close();
}

/** An empty log takes no space and holds nothing that a later start could apply to another file. */
function emptyLog(): void {
  try {
    // A process that finds this database with another log may be using it. One that was moved away is ours.
    if (isBesideLog(opened)) requireInPlace(opened, database);
    // If other processes are reading or writing now, the next batch must not wait for them.
    database.exec('PRAGMA busy_timeout = 0');
    const row = truncate.get() as unknown as [isBusy: bigint];
    if (row[0] !== 0n) idleTimer.refresh();
    // The database has grown: from now on it must not be smaller.
    if (isBesideLog(opened)) requireInPlace(opened, database);
  } catch {
    // The next batch meets the same error and reports it.
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

/** Writes a long log to the database, from which SQLite then begins it again. The place of the files was checked. */
function shortenLog(): void {
  try {
    const [, frames] = countFrames.get() as unknown as [bigint, bigint];
    if (frames < CHECKPOINT_FRAMES) return;
    checkpoint.get();
    requireInPlace(opened, database);
  } catch {
    // As with an error inside of COMMIT, the log grows, and the next batch tries again.
  }
}

function applyBatch({ pets, others }: Batch): Reply {
  try {
    keepLog();
    using transaction = beginTransaction(database);
    const lastPetId = writes.createPets(pets);
    const results = others.map(apply);
    transaction.commit();
    // Only what the next start will find may be acknowledged.
    requireInPlace(opened, database);
    return { lastPetId, results };
  } catch (error) {
    return failureOf(causeOf(error));
  }
}

/** Where the file was truncated or no ids are left, SQLite fails with an error that says less. */
function causeOf(error: unknown): unknown {
  try {
    requireInPlace(opened, database);
    if (!isFull(error)) return error;
    const [last] = lastId.get() as unknown as [bigint];
    return last === INT64_MAX ? new Error(NO_IDS_LEFT) : error;
  } catch (found) {
    return found instanceof FileTruncated ? found : error;
  }
}

function failureOf(error: unknown): Failure {
  const cause = namedCause(error);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return { error: reason, kind: kindOf(error) };
}

function kindOf(error: unknown): Failure['kind'] {
  if (error instanceof FileTruncated) return 'truncated';
  if (isCorrupt(error)) return 'malformed';
  return isLocked(error) ? 'locked' : 'disk';
}

function apply(write: Write): unknown {
  const perform = writes[write.name] as (...values: unknown[]) => unknown;
  return perform(...write.args);
}

import { DatabaseSync, StatementSync, type SQLInputValue } from 'node:sqlite';

/** What can go wrong with the next commit, or with the next read. */
export const FAULTS = [
  'busy',
  'full',
  'input/output error before the commit',
  'input/output error after the commit',
  'throw before the commit',
  'throw after the commit',
  'the thread dies before the commit',
  'the thread dies after the commit',
  'the commit takes 6 s',
  'the next read fails',
  'the next read fails as if the file were damaged',
] as const;
export type Fault = (typeof FAULTS)[number];

/** A simulated thread, as far as a fault concerns it. */
export interface Thread {
  die(): void;
  /** Everything that it sends from now on arrives this much later. */
  delayMs: number;
}

/** The state of the simulated process. */
export const simulated = {
  /** The thread whose code runs now; undefined in the main thread. */
  thread: undefined as Thread | undefined,
  fault: undefined as Fault | undefined,
  onFault: (): void => undefined,
  /** A deliberate defect: claims are stored after the commit of their animals. */
  hasLateClaims: false,
  /** How much later a commit ends for each animal that it creates. */
  createMs: 0,
};

const SLOW_MS = 6_000;

/** What is known of an open connection. */
interface Connection {
  /** The thread that has opened it. */
  thread: Thread | undefined;
  lateClaims: (() => void)[];
  /** In the transaction. */
  creates: number;
}

const connections = new Map<DatabaseSync, Connection>();
// oxlint-disable-next-line typescript/unbound-method -- called with their objects below
const { exec, prepare, close } = DatabaseSync.prototype;
// oxlint-disable-next-line typescript/unbound-method -- called with their objects below
const { all, run } = StatementSync.prototype;

/** Puts faults around the commits and the reads of SQLite. */
/* oxlint-disable unicorn/consistent-function-scoping -- the functions are methods */
export function installDatabase(): void {
  DatabaseSync.prototype.exec = function execWithFaults(sql): void {
    const connection = connectionOf(this);
    const { thread, lateClaims } = connection;
    if (sql === 'BEGIN IMMEDIATE') {
      lateClaims.length = 0;
      connection.creates = 0;
      if (thread !== undefined && take('busy')) throw sqliteError(5, 'database is locked');
    }
    if (sql === 'COMMIT' && thread !== undefined) {
      commit(this, thread, lateClaims);
      thread.delayMs += connection.creates * simulated.createMs;
    } else exec.call(this, sql);
  };
  DatabaseSync.prototype.prepare = function prepareWithDefect(sql, ...options): StatementSync {
    const connection = connectionOf(this);
    const statement = prepare.call(this, sql, ...options);
    if (sql.startsWith('INSERT INTO pets')) {
      const counted = (...values: SQLInputValue[]) => {
        const result = run.apply(statement, values as Parameters<StatementSync['run']>);
        connection.creates += Number(result.changes);
        return result;
      };
      statement.run = counted as StatementSync['run'];
    }
    const isClaim = sql.startsWith('INSERT OR REPLACE INTO idempotency_keys');
    if (!simulated.hasLateClaims || !isClaim) return statement;
    const late = (...values: SQLInputValue[]) => {
      connection.lateClaims.push(() => statement.run(...values));
    };
    return { run: late } as unknown as StatementSync;
  };
  DatabaseSync.prototype.close = function closeAndForget(): void {
    connections.delete(this);
    close.call(this);
  };
  StatementSync.prototype.all = function allOrFail(
    this: StatementSync,
    ...values: SQLInputValue[]
  ) {
    if (simulated.thread === undefined && take('the next read fails')) {
      throw sqliteError(10, 'disk I/O error');
    }
    if (simulated.thread === undefined && take('the next read fails as if the file were damaged')) {
      throw sqliteError(11, 'database disk image is malformed');
    }
    return all.apply(this, values as Parameters<StatementSync['all']>);
  } as StatementSync['all'];
}

function connectionOf(database: DatabaseSync): Connection {
  const known = connections.get(database) ?? {
    thread: simulated.thread,
    lateClaims: [],
    creates: 0,
  };
  if (database.isOpen) connections.set(database, known);
  return known;
}

function commit(database: DatabaseSync, thread: Thread, lateClaims: (() => void)[]): void {
  if (take('full')) {
    exec.call(database, 'ROLLBACK');
    throw sqliteError(13, 'database or disk is full');
  }
  if (take('input/output error before the commit')) throw sqliteError(10, 'disk I/O error');
  if (take('throw before the commit')) throw new Error('thrown before the commit');
  if (take('the thread dies before the commit')) {
    thread.die();
    throw new Error('the thread is dead');
  }
  exec.call(database, 'COMMIT');
  if (take('the commit takes 6 s')) thread.delayMs = SLOW_MS;
  if (take('the thread dies after the commit')) thread.die();
  else if (take('input/output error after the commit')) throw sqliteError(10, 'disk I/O error');
  else if (take('throw after the commit')) throw new Error('thrown after the commit');
  else for (const store of lateClaims) store();
}

function take(fault: Fault): boolean {
  if (simulated.fault !== fault) return false;
  simulated.fault = undefined;
  simulated.onFault();
  return true;
}

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode, errstr: message });
}

/** Closes every database of a thread that has died, or of the whole process. */
export function closeDatabases(thread?: Thread): void {
  for (const [database, connection] of connections) {
    const isOurs = thread === undefined || connection.thread === thread;
    if (isOurs && database.isOpen) database.close();
  }
}

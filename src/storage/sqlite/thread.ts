// Threads that use SQLite. Node.js ends a process only after its threads, even in process.exit(), and no call ends a
// thread that is inside SQLite: in fsync on a disk that hangs, or in a long check.

import { getCompileCacheDir } from 'node:module';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../installation.ts';
import type { FileIdentity } from './file-identity.ts';

/** How long the end of the process waits for a thread that is inside SQLite. */
const EXIT_TIMEOUT_MS = 1_000;

export interface ThreadData {
  /** The files that the store has open; the thread opens no others. */
  opened: FileIdentity;
  /** 1 while the thread is inside SQLite, where it cannot be interrupted. */
  isBusy: Int32Array;
}

/** Starts a script of this folder. If the thread keeps the process from ending, the process kills itself. */
export function startSqliteThread(script: string, opened: FileIdentity): Worker {
  const isBusy = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const thread = startThread(new URL(script, import.meta.url), {
    workerData: { opened, isBusy } satisfies ThreadData,
    // The compile cache works in a thread too, but only if the thread is told its folder.
    env: { NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
  });
  // The file survives this as it survives a crash.
  const killIfBusy = () => {
    if (Atomics.wait(isBusy, 0, 1, EXIT_TIMEOUT_MS) === 'timed-out') {
      process.kill(process.pid, 'SIGKILL');
    }
  };
  process.on('exit', killIfBusy);
  thread.once('exit', () => process.off('exit', killIfBusy));
  return thread;
}

/** Used by the thread while it is inside SQLite. */
export function whileBusy<Result>(isBusy: Int32Array, work: () => Result): Result {
  Atomics.store(isBusy, 0, 1);
  try {
    return work();
  } finally {
    Atomics.store(isBusy, 0, 0);
    Atomics.notify(isBusy, 0);
  }
}

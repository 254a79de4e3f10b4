import type { Worker } from 'node:worker_threads';

/** How long the end of the process waits for a thread that is inside SQLite. */
const EXIT_TIMEOUT_MS = 1_000;

/** One flag per thread: 1 while it is inside SQLite, where only the disk can end its wait. */
const busyFlags = new Set<Int32Array>();

export function newBusyFlag(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Lets the process end although the thread waits for a disk that hangs. Node.js ends a process only
 * after its threads, also in process.exit(), and no call ends a thread that is inside fsync. So the
 * process kills itself then, which to the file is the same as a crash.
 */
export function endInSpiteOf(thread: Worker, isBusy: Int32Array): void {
  if (busyFlags.size === 0) process.on('exit', killIfBusy);
  busyFlags.add(isBusy);
  thread.once('exit', () => {
    busyFlags.delete(isBusy);
    if (busyFlags.size === 0) process.off('exit', killIfBusy);
  });
}

function killIfBusy(): void {
  for (const isBusy of busyFlags) {
    if (Atomics.wait(isBusy, 0, 1, EXIT_TIMEOUT_MS) === 'timed-out') {
      process.kill(process.pid, 'SIGKILL');
    }
  }
}

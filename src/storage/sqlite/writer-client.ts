import { getCompileCacheDir } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { Figure } from '../../ops/metrics.ts';
import { startThread } from '../../installation.ts';
import { Batcher, type Pending } from '../batcher.ts';
import { atDeadline, deadlineIn } from '../deadline.ts';
import type { FileIdentity } from './connection.ts';
import { isCorrupt, unavailable } from './errors.ts';
import type { Writes } from './statements.ts';
import type { Reply, Write, WriterData } from './writer.ts';

const WAITING_WRITES_MAX = 10_000;
/** A batch is one commit: large enough to share an fsync among many, small enough to respond soon. */
const BATCH_WRITES_MAX = 1_000;
/** Every write is settled within this time, as on PostgreSQL. */
const WRITE_TIMEOUT_MS = 4_000;
/** The first batch of a thread also waits for the thread to start, which a busy machine delays. */
const START_TIMEOUT_MS = 15_000;
/** How long the thread may take to close the file once everything is settled. */
const CLOSE_TIMEOUT_MS = 1_000;
/** How long the end of the process waits for a thread that is inside SQLite. */
const EXIT_TIMEOUT_MS = 1_000;

/** One flag per thread: 1 while it is inside SQLite. */
const busyFlags = new Set<Int32Array>();

// Node.js ends a process only after its threads, even in process.exit(), and no call ends a thread that
// waits in fsync for a disk that hangs. The process then kills itself; to the file that is a crash.
process.on('exit', () => {
  for (const isBusy of busyFlags) {
    if (Atomics.wait(isBusy, 0, 1, EXIT_TIMEOUT_MS) === 'timed-out') {
      process.kill(process.pid, 'SIGKILL');
    }
  }
});

/** What the store must know beyond the refusals of single writes. */
export interface WriterEvents {
  onStoreError(message: string, isCorrupt: boolean): void;
  onStuck(): void;
}

/** One write of the batch is at fault. */
class WriteError extends Error {}

/** Hands batches of writes to the writer thread, and replaces a thread that has died. */
export class WriterClient {
  readonly #opened: FileIdentity;
  readonly #events: WriterEvents;
  readonly #batcher = new Batcher<Write, unknown>({
    what: 'writes',
    waitingMax: WAITING_WRITES_MAX,
    batchMax: BATCH_WRITES_MAX,
    timeoutMs: WRITE_TIMEOUT_MS,
    sendTimeMinMs: 0,
    send: (batch, deadline) => this.#send(batch, deadline),
    isItemError: (error) => error instanceof WriteError,
    isRepeatable: () => false,
    refusal: (cause) => unavailable('cannot be written', cause),
  });
  #thread: Worker | undefined;
  /** The reply to the batch that the thread has. */
  #reply: PromiseWithResolvers<unknown[]> | undefined;
  #isThreadOpen = false;
  #isStuck = false;
  #ending: Promise<void> | undefined;

  constructor(opened: FileIdentity, events: WriterEvents) {
    this.#opened = opened;
    this.#events = events;
    this.#thread = this.#startThread();
  }

  /** The thread has missed the deadline of its batch: writes are refused until it replies. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  write<Name extends keyof Writes>(
    name: Name,
    ...values: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    const write = { name, with: values } as Write;
    return this.#batcher.add(write) as Promise<ReturnType<Writes[Name]>>;
  }

  figures(): Figure[] {
    return this.#batcher.figures();
  }

  /** Commits what was accepted, then ends the thread; does not wait for a disk that hangs. */
  async close(): Promise<void> {
    const ended = this.#end();
    await this.#batcher.close();
    await Promise.race([ended, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    this.#thread?.unref();
  }

  /** Refuses the writes that wait, and resolves when the thread has closed the file. */
  discard(cause: unknown): Promise<void> {
    this.#batcher.rejectWaiting(cause);
    return this.#end();
  }

  #end(): Promise<void> {
    this.#ending ??= this.#endThread();
    return this.#ending;
  }

  async #endThread(): Promise<void> {
    await this.#batcher.close();
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise<void>((resolve) => {
      thread.once('exit', () => resolve());
    });
    thread.postMessage('close');
    await ended;
  }

  async #send(
    batch: Pending<Write, unknown>[],
    deadline: number,
  ): Promise<Pending<Write, unknown>[]> {
    if (this.#isStuck) throw overdue();
    this.#thread ??= this.#startThread();
    this.#reply = Promise.withResolvers();
    this.#thread.postMessage(batch.map(({ item }) => item));
    const due = this.#isThreadOpen ? deadline : deadlineIn(START_TIMEOUT_MS);
    const cancel = atDeadline(due, () => this.#setStuck());
    try {
      const results = await this.#reply.promise;
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]);
      return [];
    } finally {
      cancel();
    }
  }

  #startThread(): Worker {
    const isBusy = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const thread = startThread(new URL('./writer.ts', import.meta.url), {
      workerData: { opened: this.#opened, isBusy } satisfies WriterData,
      // The compile cache works in a thread too, but only if the thread is told its folder.
      env: { NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
    });
    busyFlags.add(isBusy);
    this.#isThreadOpen = false;
    thread.on('message', (message: Reply | 'open') => {
      if (message === 'open') this.#isThreadOpen = true;
      else this.#receive(message);
    });
    thread.once('error', (error: unknown) => this.#threadEnded(thread, error));
    thread.once('exit', () => {
      busyFlags.delete(isBusy);
      this.#threadEnded(thread, new Error('the writer thread ended'));
    });
    return thread;
  }

  #receive(reply: Reply): void {
    this.#isStuck = false;
    if ('results' in reply) {
      this.#reply?.resolve(reply.results);
    } else if (reply.isStoreError) {
      this.#reply?.reject(new Error(reply.error));
      // The writes that wait would only meet the same error, after waiting as long again.
      this.#batcher.rejectWaiting(new Error(reply.error));
      this.#events.onStoreError(reply.error, reply.isCorrupt);
    } else {
      this.#reply?.reject(new WriteError(reply.error));
    }
  }

  /** The batch may still be stored after it was refused. Nothing more is sent until the thread replies. */
  #setStuck(): void {
    this.#isStuck = true;
    this.#reply?.reject(overdue());
    this.#events.onStuck();
  }

  /** Whether the batch was committed is unknown. The next batch starts a new thread. */
  #threadEnded(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#isStuck = false;
    this.#reply?.reject(cause);
    if (this.#ending === undefined) this.#events.onStoreError(String(cause), isCorrupt(cause));
  }
}

function overdue(): Error {
  return new Error(`the disk has not confirmed a commit within ${WRITE_TIMEOUT_MS} ms`);
}

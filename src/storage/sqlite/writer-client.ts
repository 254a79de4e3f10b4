import { getCompileCacheDir } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { startThread } from '../../ops/installation.ts';
import type { Figure } from '../../ops/metrics.ts';
import { Batcher, type Pending } from '../batcher.ts';
import { atDeadline, CALL_TIMEOUT_MS, deadlineIn, type Deadline } from '../deadline.ts';
import { rowsAsJson } from '../rows.ts';
import { cannotTake } from '../unavailable.ts';
import type { FileIdentity } from './file-identity.ts';
import type { Writes } from './statements.ts';
import type { Batch, Failure, Reply, Write } from './writer.ts';

/** A batch is one commit: large enough to share an fsync among many, small enough to respond soon. */
const BATCH_WRITES_MAX = 1_000;
/** The first batch of a thread also waits for the thread to start, which a busy machine delays. */
const START_TIMEOUT_MS = 15_000;
/**
 * How long the thread may take to close the file once everything is settled. Node.js ends a process only after its
 * threads: one that hangs in a sync keeps it until the disk replies, or until somebody kills it.
 */
const CLOSE_TIMEOUT_MS = 1_000;

/** What the store must know beyond the refusals of single writes, and how it wants to wait. */
export interface WriterOptions {
  waitsForDisk: boolean;
  onWarning: (message: string) => void;
  /** A batch has failed, or the thread has ended. */
  onFailure: (failure: Failure | { error: string; kind: 'ended' }) => void;
}

/** A create without a claim, or another write. */
type Item = NewPet | Write;

/** What the thread replies to a batch that it has committed. */
type Results = Extract<Reply, { results: unknown[] }>;

/** Hands batches of writes to the writer thread. */
export class WriterClient {
  readonly #options: WriterOptions;
  readonly #batcher = new Batcher<Item, unknown>({
    batchMax: BATCH_WRITES_MAX,
    send: (batch, deadline) => this.#send(batch, deadline),
  });
  readonly #thread: Worker;
  readonly #ended = Promise.withResolvers<void>();
  /** The reply to the batch that the thread has. */
  #reply: PromiseWithResolvers<Results> | undefined;
  #isThreadOpen = false;
  /** The thread has missed the deadline of its batch: writes are refused until it replies. */
  #isStuck = false;
  #hasWarned = false;

  constructor(opened: FileIdentity, options: WriterOptions) {
    this.#options = options;
    this.#thread = this.#start(opened);
  }

  /** Why the store is not ready, or undefined. */
  get fault(): string | undefined {
    return this.#isStuck ? 'the disk hangs' : undefined;
  }

  createPet(pet: NewPet): Promise<Creation> {
    return this.#batcher.add(pet) as Promise<Creation>;
  }

  write<Name extends keyof Writes>(
    name: Name,
    ...args: Parameters<Writes[Name]>
  ): Promise<ReturnType<Writes[Name]>> {
    const write = { name, args } as Write;
    return this.#batcher.add(write) as Promise<ReturnType<Writes[Name]>>;
  }

  figures(): Figure[] {
    return this.#batcher.figures();
  }

  /** Refuses the writes that wait, and all later ones. */
  fail(cause: Error): void {
    void this.#batcher.close(cause);
    this.#batcher.rejectWaiting(cause);
  }

  /** Commits what was accepted, then ends the thread; does not wait for a disk that hangs. */
  async close(): Promise<void> {
    await this.#batcher.close();
    this.#thread.postMessage('close');
    await Promise.race([this.#ended.promise, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    this.#thread.unref();
  }

  async #send(batch: Pending<Item, unknown>[], deadline: Deadline): Promise<void> {
    if (this.#isStuck) throw overdue();
    this.#reply = Promise.withResolvers();
    const items = batch.map(({ item }) => item);
    const pets = items.filter((item): item is NewPet => !('args' in item));
    const others = items.filter((item) => 'args' in item);
    this.#thread.postMessage({ pets: rowsAsJson(pets), others } satisfies Batch);
    const due = this.#isThreadOpen ? deadline : deadlineIn(START_TIMEOUT_MS);
    const cancel = atDeadline(due, () => this.#missDeadline());
    try {
      const { lastPetId, results } = await this.#reply.promise;
      let id = lastPetId - BigInt(pets.length);
      for (const { item, resolve } of batch) {
        if ('args' in item) resolve(results.shift());
        else resolve({ kind: 'created', pet: { id: (id += 1n), ...item } });
      }
    } finally {
      cancel();
    }
  }

  #start(opened: FileIdentity): Worker {
    const thread = startThread(new URL('./writer.ts', import.meta.url), {
      workerData: opened,
      // The compile cache works in a thread too, but only if the thread is told its folder.
      env: { NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
    });
    thread.on('message', (message: Reply | 'open') => {
      if (message === 'open') this.#isThreadOpen = true;
      else this.#receive(message);
    });
    thread.once('error', (error: unknown) => this.#threadEnded(error));
    thread.once('exit', () => this.#threadEnded(new Error('it ended by itself')));
    return thread;
  }

  #receive(reply: Reply): void {
    this.#isStuck = false;
    if ('results' in reply) {
      this.#reply?.resolve(reply);
    } else {
      const cause = new Error(reply.error);
      const error = reply.kind === 'disk' ? cannotTake(cause) : cause;
      this.#reply?.reject(error);
      // The writes that wait would most likely meet the same error, after waiting as long again.
      this.#batcher.rejectWaiting(error);
      this.#options.onFailure(reply);
    }
  }

  /** The batch may still be stored after it was refused. Nothing more is sent until the thread replies. */
  #missDeadline(): void {
    if (this.#options.waitsForDisk) {
      if (!this.#hasWarned) this.#options.onWarning(`${overdue().message}: waiting for it`);
      this.#hasWarned = true;
      return;
    }
    this.#isStuck = true;
    this.#reply?.reject(overdue());
    this.#options.onWarning('the disk does not confirm commits: writes are refused');
  }

  /** Whether the batch was committed is unknown. */
  #threadEnded(cause: unknown): void {
    this.#ended.resolve();
    this.#reply?.reject(cause);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const error = `the writer thread has ended (${reason}): start the service again.`;
    this.#options.onFailure({ error, kind: 'ended' });
  }
}

function overdue(): Error {
  return new Error(`the disk has not confirmed a commit within ${CALL_TIMEOUT_MS} ms`);
}

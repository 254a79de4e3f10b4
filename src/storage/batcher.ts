import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { sharedRefusal } from '../domain/errors.ts';
import { gauge, Histogram, LATENCY_BOUNDS_MS } from '../ops/metrics.ts';
import type { Figure, Measured } from '../ops/metrics.ts';
import { CALL_TIMEOUT_MS, deadlineIn, type Deadline } from './deadline.ts';
import { unavailable } from './unavailable.ts';

/** At most this many items wait, in the queue or in flight. */
const WAITING_ITEMS_MAX = 10_000;
/**
 * Where at least WAITING_ITEMS_MIN wait, further ones are refused while the oldest has waited for longer than this:
 * a refusal at once is better than a late success.
 */
const WAITING_MS_MAX = 60;
/** So many may wait however slow the store is: a store that stalls for a moment refuses none of a few clients. */
const WAITING_ITEMS_MIN = 64;
/** The longest a batch is delayed so that more items can share it. */
const DELAY_MS_MAX = 3;
/** An item with less time left than this is refused instead of sent: its outcome might stay unknown. */
const SEND_TIME_MIN_MS = 1_000;
/** Upper bounds of the buckets for the sizes of batches. */
const SIZE_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** Made once: the stack trace of an error costs a tenth of a refused request. */
const OVERLOADED = sharedRefusal('overloaded', 'Too many writes are waiting; try again shortly.');

/** One accepted item, and the promise that its caller waits for. */
export interface Pending<Item, Result> {
  item: Item;
  deadline: Deadline;
  resolve: (result: Result) => void;
  reject: (reason: Error) => void;
}

export interface BatcherOptions<Item, Result> {
  batchMax: number;
  /** Sends one batch and resolves its items, before the deadline. If it throws, the others are refused. */
  send: (batch: Pending<Item, Result>[], deadline: Deadline) => Promise<void>;
}

/**
 * Sends items in batches, one batch in flight at a time. Items that arrive meanwhile share the next batch,
 * so that the number of commits does not grow with the number of callers.
 *
 * No timer is needed for items that wait: they are in the order of their deadlines, and the batch before
 * them is settled by its own, earlier one.
 */
export class Batcher<Item, Result> implements Measured {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #sizes = new Histogram(SIZE_BOUNDS);
  readonly #commitsMs = new Histogram(LATENCY_BOUNDS_MS);
  readonly #waiting: Pending<Item, Result>[] = [];
  #inFlight: readonly Pending<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  #delayMs = 0;
  #hasFailed = false;
  /** Why new items are refused. */
  #closedBy: Error | undefined;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  figures(): Figure[] {
    const waiting = 'Writes that wait for their commit.';
    const failed = 'Whether the last batch of writes has failed: 1 or 0.';
    const commit = 'Time from sending a batch of writes to its commit or its failure.';
    return [
      gauge('petstore_writes_waiting', waiting, this.#waiting.length + this.#inFlight.length),
      this.#sizes.figure('petstore_write_batch_size', 'Writes that were committed together.'),
      gauge('petstore_last_write_failed', failed, Number(this.#hasFailed)),
      this.#commitsMs.figure('petstore_commit_duration_seconds', commit, 1000),
    ];
  }

  async add(item: Item): Promise<Result> {
    if (this.#closedBy !== undefined) throw unavailable(this.#closedBy);
    const deadline = deadlineIn(CALL_TIMEOUT_MS);
    if (this.#isOverloaded(deadline)) throw OVERLOADED;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, deadline, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  rejectWaiting(cause: Error): void {
    rejectAll(this.#waiting.splice(0), cause);
  }

  /** Refuses new items, and resolves when every accepted item is settled. */
  async close(cause = new Error('the store is closed')): Promise<void> {
    this.#closedBy ??= cause;
    await this.#running;
  }

  /** Every item has the same time, so the difference of two deadlines is that between their arrivals. */
  #isOverloaded(deadline: Deadline): boolean {
    const waiting = this.#inFlight.length + this.#waiting.length;
    if (waiting < WAITING_ITEMS_MIN) return false;
    const oldest = this.#inFlight[0] ?? this.#waiting[0];
    const waitedMs = deadline - (oldest?.deadline ?? deadline);
    return waiting >= WAITING_ITEMS_MAX || waitedMs > WAITING_MS_MAX;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // At least until the end of this turn of the event loop: the items of one turn share a batch.
      await (this.#delayMs < 1 ? turn() : sleep(this.#delayMs));
      const batch = this.#waiting.splice(0, this.#options.batchMax);
      this.#inFlight = batch;
      const sentAtMs = performance.now();
      await this.#settle(batch);
      this.#inFlight = [];
      const tookMs = performance.now() - sentAtMs;
      this.#sizes.add(batch.length);
      this.#commitsMs.add(tookMs);
      // Callers that have just got a response may send their next item soon: where several send at once, a
      // delay saves a slow disk or network more batches than it costs time.
      this.#delayMs = batch.length > 1 ? Math.min(tookMs / 2, DELAY_MS_MAX) : 0;
    }
    this.#running = undefined;
  }

  /** Settles every item of the batch; never throws. */
  async #settle(batch: Pending<Item, Result>[]): Promise<void> {
    const latest = performance.now() + SEND_TIME_MIN_MS;
    const inTime = batch.filter(({ deadline }) => deadline > latest);
    if (inTime.length < batch.length) {
      const late = batch.slice(0, batch.length - inTime.length);
      rejectAll(late, new Error('the items before it took too long'));
    }
    const [first] = inTime;
    if (first === undefined) return;
    try {
      await this.#options.send(inTime, first.deadline);
      this.#hasFailed = false;
    } catch (error) {
      rejectAll(inTime, error);
      this.#hasFailed = true;
    }
  }
}

function rejectAll(batch: Pick<Pending<unknown, unknown>, 'reject'>[], cause: unknown): void {
  for (const { reject } of batch) reject(unavailable(cause));
}

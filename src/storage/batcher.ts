import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { Refusal } from '../domain/errors.ts';
import { Histogram, LATENCY_BOUNDS_MS } from '../ops/metrics.ts';
import type { Figure, Measured } from '../ops/metrics.ts';
import { AdmissionControl } from './admission-control.ts';
import { deadlineIn, type Deadline } from './deadline.ts';

/** The longest a batch is delayed so that more items can share it. */
const DELAY_MS_MAX = 3;
const ATTEMPTS_MAX = 5;
/** Upper bounds of the buckets that the sizes of batches are counted in. */
const SIZE_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** One accepted item, and the promise that its caller waits for. */
export interface Pending<Item, Result> {
  item: Item;
  deadline: Deadline;
  resolve: (result: Result) => void;
  reject: (reason: Refusal) => void;
}

export interface BatcherOptions<Item, Result> {
  /** What the items are, for the message of the refusal: "writes". */
  what: string;
  /** At most this many items wait, in the queue or in flight. More are refused at once. */
  waitingMax: number;
  batchMax: number;
  /** Every item is settled within this time. */
  timeoutMs: number;
  /** An item with less time left than this is refused instead of sent. */
  sendTimeMinMs: number;
  /**
   * Sends one batch, resolves the items that succeeded, and returns the items that must be sent again. It
   * settles before the deadline, and throws if the batch failed as a whole.
   */
  send: (batch: Pending<Item, Result>[], deadline: Deadline) => Promise<Pending<Item, Result>[]>;
  /** Whether one item of the batch caused the error, and nothing of the batch was kept. */
  isItemError: (error: unknown) => boolean;
  /** Whether the item may be sent again after its batch failed with this error. */
  isRepeatable: (error: unknown, item: Item) => boolean;
  /** The refusal that callers get for a cause that only the log should name. */
  refusal: (cause: unknown) => Refusal;
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
  readonly #admission: AdmissionControl;
  readonly #sizes = new Histogram(SIZE_BOUNDS);
  readonly #commitsMs = new Histogram(LATENCY_BOUNDS_MS);
  readonly #waiting: Pending<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  #delayMs = 0;
  #isClosed = false;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
    this.#admission = new AdmissionControl(options.what, options.waitingMax);
  }

  figures(): Figure[] {
    const commit = 'Time from sending a batch of writes to its commit or its failure.';
    return [
      ...this.#admission.figures(),
      this.#sizes.figure('petstore_write_batch_size', 'Writes that were committed together.'),
      this.#commitsMs.figure('petstore_commit_duration_seconds', commit, 1000),
    ];
  }

  /** Not async: one more promise per create is measurable. */
  add(item: Item): Promise<Result> {
    const { timeoutMs, refusal } = this.#options;
    if (this.#isClosed) return Promise.reject(refusal(new Error('the store is closed')));
    if (!this.#admission.admit()) return Promise.reject(this.#admission.overloaded);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, deadline: deadlineIn(timeoutMs), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  rejectWaiting(cause: unknown): void {
    const rejected = this.#waiting.splice(0);
    this.#admission.settled(rejected.length);
    this.#reject(rejected, cause);
  }

  /** Refuses new items, and resolves when every accepted item is settled. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // At least until the end of this turn of the event loop: the items of one turn share a batch.
      await (this.#delayMs < 1 ? turn() : sleep(this.#delayMs));
      const batch = this.#waiting.splice(0, this.#options.batchMax);
      const sentAtMs = performance.now();
      await this.#settle(batch);
      const tookMs = performance.now() - sentAtMs;
      this.#sizes.add(batch.length);
      this.#commitsMs.add(tookMs);
      this.#admission.settled(batch.length);
      this.#admission.learn(batch.length, tookMs);
      // Callers that have just got a response may send their next item soon: where several send at once, a
      // delay saves a slow disk or network more batches than it costs time.
      this.#delayMs = batch.length > 1 ? Math.min(tookMs / 2, DELAY_MS_MAX) : 0;
    }
    this.#running = undefined;
  }

  /** Settles every item of the batch; never throws. */
  async #settle(batch: Pending<Item, Result>[]): Promise<void> {
    const { send, isItemError, isRepeatable } = this.#options;
    let open = batch;
    let cause: unknown = new Error('the items before it took too long');
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const latest = performance.now() + this.#options.sendTimeMinMs;
      open = this.#keep(open, cause, ({ deadline }) => deadline > latest);
      const [first] = open;
      if (first === undefined) return;
      try {
        open = await send(open, first.deadline);
      } catch (error) {
        cause = error;
        if (isItemError(error) && open.length > 1) {
          // In halves, until the faulty item fails alone.
          const half = Math.ceil(open.length / 2);
          await this.#settle(open.slice(0, half));
          await this.#settle(open.slice(half));
          return;
        }
        open = this.#keep(open, error, ({ item }) => isRepeatable(error, item));
      }
    }
    this.#reject(open, cause);
  }

  #keep(
    batch: Pending<Item, Result>[],
    cause: unknown,
    isKept: (pending: Pending<Item, Result>) => boolean,
  ): Pending<Item, Result>[] {
    return batch.filter((pending) => {
      const kept = isKept(pending);
      if (!kept) this.#reject([pending], cause);
      return kept;
    });
  }

  #reject(batch: Pending<Item, Result>[], cause: unknown): void {
    for (const { reject } of batch) reject(this.#options.refusal(cause));
  }
}

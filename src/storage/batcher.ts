import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../domain/errors.ts';
import { gauge, Histogram, LATENCY_BOUNDS_MS } from '../ops/metrics.ts';
import type { Figure, Measured } from '../ops/metrics.ts';
import { deadlineIn, type Deadline } from './deadline.ts';

/** The longest a batch is delayed so that more items can share it. */
const DELAY_MS_MAX = 3;
const ATTEMPTS_MAX = 5;
/** An item is refused if those before it, the batch in flight included, would take longer than this. */
const WAITING_MS_MAX = 60;
/** So many items may wait in any case. */
const BURST_ITEMS = 64;
/** The weight of the last batch in the averages. */
const LAST_WEIGHT = 1 / 8;
/** Below this variance, the sizes of the batches do not show what one item takes. */
const SIZE_VARIANCE_MIN = 16;
/** An average batch of so few items shows that there is no congestion. */
const FEW_ITEMS = 4;

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
  /** How many items may wait, in the queue or in flight, if they are fast. More are refused at once. */
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
 * Where each item takes time, and not only the commit, fewer items may wait: a client gets a refusal at once
 * instead of a late success. Where only the commit is slow, refusing items would make nothing faster.
 *
 * No timer is needed for items that wait: they are in the order of their deadlines, and the batch before
 * them is settled by its own, earlier one.
 */
export class Batcher<Item, Result> implements Measured {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #sizes = new Histogram(SIZE_BOUNDS);
  readonly #commitsMs = new Histogram(LATENCY_BOUNDS_MS);
  readonly #waiting: Pending<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  /** Made once: the stack trace of an error costs a tenth of a refused request. */
  readonly #overloaded: Refusal;
  #delayMs = 0;
  #isClosed = false;
  #inFlight = 0;
  #waitingMax: number;
  readonly #itemCost = new ItemCost();

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
    this.#waitingMax = options.waitingMax;
    const message = `Too many ${options.what} are waiting; try again shortly.`;
    this.#overloaded = new Refusal('overloaded', message);
  }

  figures(): Figure[] {
    const waiting = 'Writes that wait for their commit.';
    const max = 'How many writes may wait now; it is lower while the store is congested.';
    const commit = 'Time from sending a batch of writes to its commit or its failure.';
    return [
      gauge('petstore_writes_waiting', waiting, this.#waiting.length + this.#inFlight),
      gauge('petstore_writes_waiting_max', max, Math.floor(this.#waitingMax)),
      this.#sizes.figure('petstore_write_batch_size', 'Writes that were committed together.'),
      this.#commitsMs.figure('petstore_commit_duration_seconds', commit, 1000),
    ];
  }

  /** Not async: one more promise per create is measurable. */
  add(item: Item): Promise<Result> {
    const { timeoutMs, refusal } = this.#options;
    if (this.#isClosed) return Promise.reject(refusal(new Error('the store is closed')));
    const waiting = this.#waiting.length + this.#inFlight;
    if (waiting >= this.#waitingMax) return Promise.reject(this.#overloaded);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, deadline: deadlineIn(timeoutMs), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  rejectWaiting(cause: unknown): void {
    this.#reject(this.#waiting.splice(0), cause);
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
      this.#inFlight = batch.length;
      await this.#settle(batch);
      this.#inFlight = 0;
      const tookMs = performance.now() - sentAtMs;
      this.#sizes.add(batch.length);
      this.#commitsMs.add(tookMs);
      // Callers that have just been answered may send their next item soon: where several send at once, a delay
      // saves a slow disk or network more batches than it costs time.
      this.#delayMs = batch.length > 1 ? Math.min(tookMs / 2, DELAY_MS_MAX) : 0;
      this.#itemCost.add(batch.length, tookMs);
      const affordable = Math.max(BURST_ITEMS, WAITING_MS_MAX / this.#itemCost.itemMs);
      this.#waitingMax = Math.min(this.#options.waitingMax, affordable);
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

/** What one more item adds to the time of a batch: the slope of a line through the last batches. */
class ItemCost {
  /** Averages over the last batches: their size and time, and how these vary together. */
  #size = 0;
  #tookMs = 0;
  #sizeVariance = 0;
  #covariance = 0;
  itemMs = 0;

  add(size: number, tookMs: number): void {
    if (this.#size === 0) [this.#size, this.#tookMs] = [size, tookMs];
    const sizeChange = size - this.#size;
    const tookChange = tookMs - this.#tookMs;
    const rest = 1 - LAST_WEIGHT;
    this.#size += sizeChange * LAST_WEIGHT;
    this.#tookMs += tookChange * LAST_WEIGHT;
    this.#sizeVariance = rest * (this.#sizeVariance + LAST_WEIGHT * sizeChange ** 2);
    this.#covariance = rest * (this.#covariance + LAST_WEIGHT * sizeChange * tookChange);
    if (this.#size < FEW_ITEMS) this.itemMs = 0;
    else if (this.#sizeVariance > SIZE_VARIANCE_MIN) {
      this.itemMs = Math.max(0, this.#covariance / this.#sizeVariance);
    }
  }
}

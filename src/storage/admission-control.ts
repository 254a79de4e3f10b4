import { sharedRefusal } from '../domain/errors.ts';
import { gauge, type Figure, type Measured } from '../ops/metrics.ts';

/** At most this many items wait, in the queue or in flight. */
const WAITING_ITEMS_MAX = 10_000;
/** An item is refused if those before it, the batch in flight included, would take longer than this. */
const WAITING_MS_MAX = 60;
/** At least this many items may always wait. */
const WAITING_ITEMS_MIN = 64;
/** The weight of the last batch in the moving averages. */
const LAST_WEIGHT = 1 / 8;
/** If the average batch has fewer items than this, there is no congestion. */
const FEW_ITEMS = 4;
/** Below this variance, the sizes of the batches do not show what one item takes. */
const SIZE_VARIANCE_MIN = 16;

/**
 * Limits how many items wait, in the queue or in flight.
 *
 * Where each item takes time, a client gets a refusal at once instead of a late success. Where only the
 * commit is slow, the items share it, and refusing some would make nothing faster. So what counts is the
 * time that one more item adds to its batch: the slope of the straight line through the last batches (time
 * over size, least squares), which is the covariance of size and time divided by the variance of the size.
 */
export class AdmissionControl implements Measured {
  /** Made once: the stack trace of an error costs a tenth of a refused request. */
  readonly overloaded = sharedRefusal(
    'overloaded',
    'Too many writes are waiting; try again shortly.',
  );
  #waiting = 0;
  /** How many may wait now. */
  #limit = WAITING_ITEMS_MAX;
  /** Moving averages of size, time, size × size and size × time of the batches. */
  #averages: readonly number[] = [];
  #itemMs = 0;

  figures(): Figure[] {
    const waiting = 'Writes that wait for their commit.';
    const max = 'How many writes may wait now; it is lower while the store is congested.';
    return [
      gauge('petstore_writes_waiting', waiting, this.#waiting),
      gauge('petstore_writes_waiting_max', max, Math.floor(this.#limit)),
    ];
  }

  /** Whether one more item may wait. It is counted until it is settled. */
  admit(): boolean {
    if (this.#waiting >= this.#limit) return false;
    this.#waiting += 1;
    return true;
  }

  settled(items: number): void {
    this.#waiting -= items;
  }

  /** Adapts the limit to a batch of `size` items that took `tookMs`. */
  learn(size: number, tookMs: number): void {
    this.#averages = [size, tookMs, size * size, size * tookMs].map((value, index) => {
      const average = this.#averages[index] ?? value;
      return average + (value - average) * LAST_WEIGHT;
    });
    const [sizes = 0, times = 0, squares = 0, products = 0] = this.#averages;
    const variance = squares - sizes * sizes;
    if (sizes < FEW_ITEMS) this.#itemMs = 0;
    else if (variance > SIZE_VARIANCE_MIN) this.#itemMs = (products - sizes * times) / variance;
    const affordable = this.#itemMs > 0 ? WAITING_MS_MAX / this.#itemMs : Infinity;
    this.#limit = Math.min(WAITING_ITEMS_MAX, Math.max(WAITING_ITEMS_MIN, affordable));
  }
}

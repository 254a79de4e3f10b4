import { Refusal } from '../domain/errors.ts';
import { gauge, type Figure, type Measured } from '../ops/metrics.ts';

/** An item is refused if those before it, the batch in flight included, would take longer than this. */
const WAITING_MS_MAX = 60;
/** At least this many items may always wait. */
const WAITING_ITEMS_MIN = 64;
/** A batch with fewer items than this shows how long a commit takes, whatever it commits. */
const FEW_ITEMS = 4;
/** The weight of the last batch in the moving averages. */
const LAST_WEIGHT = 1 / 8;

/**
 * Limits how many items wait, in the queue or in flight.
 *
 * Where each item takes time, a client gets a refusal at once instead of a late success. Where only the
 * commit is slow, the items share it, and refusing some would make nothing faster. So the time per item is
 * what a batch takes longer than a batch of few items, divided by its size. Both are moving averages.
 */
export class AdmissionControl implements Measured {
  /** Made once: the stack trace of an error costs a tenth of a refused request. */
  readonly overloaded: Refusal;
  readonly #waitingMax: number;
  #waiting = 0;
  /** How many may wait now. */
  #limit: number;
  #commitMs: number | undefined;
  #itemMs = 0;

  /** `what` names the items in the message of the refusal. */
  constructor(what: string, waitingMax: number) {
    this.overloaded = new Refusal('overloaded', `Too many ${what} are waiting; try again shortly.`);
    this.#waitingMax = waitingMax;
    this.#limit = waitingMax;
  }

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
    this.#commitMs ??= tookMs;
    const isFew = size < FEW_ITEMS;
    if (isFew) this.#commitMs += (tookMs - this.#commitMs) * LAST_WEIGHT;
    const itemMs = isFew ? 0 : (tookMs - this.#commitMs) / size;
    this.#itemMs += (itemMs - this.#itemMs) * LAST_WEIGHT;
    const affordable = this.#itemMs > 0 ? WAITING_MS_MAX / this.#itemMs : Infinity;
    this.#limit = Math.min(this.#waitingMax, Math.max(WAITING_ITEMS_MIN, affordable));
  }
}

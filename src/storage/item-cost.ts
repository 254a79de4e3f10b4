/** The weight of the last batch in the averages. */
const LAST_WEIGHT = 1 / 8;
/** Below this variance, the sizes of the batches do not show what one item takes. */
const SIZE_VARIANCE_MIN = 16;
/** An average batch of so few items shows that there is no congestion. */
const FEW_ITEMS = 4;

/** What one more item adds to the time of a batch: the slope of a line through the last batches. */
export class ItemCost {
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

import { gauge, type Figure, type Measured } from '../ops/metrics.ts';

/** Counting takes longer the more animals there are, so it gets at most this share of the time. */
const TIME_SHARE_MAX = 0.001;

/** The number of animals as of the last count. Each report begins the next one if its time has come. */
export class PetCount implements Measured {
  readonly #count: () => number | Promise<number>;
  #pets: number | undefined;
  #nextMs = 0;

  constructor(count: () => number | Promise<number>) {
    this.#count = count;
  }

  figures(): Figure[] {
    if (performance.now() >= this.#nextMs) void this.#update();
    return this.#pets === undefined
      ? []
      : [gauge('petstore_pets', 'Animals in the catalogue.', this.#pets, 'max')];
  }

  async #update(): Promise<void> {
    this.#nextMs = Number.POSITIVE_INFINITY;
    const startMs = performance.now();
    try {
      const counted = this.#count();
      // A number is in this report already.
      this.#pets = typeof counted === 'number' ? counted : await counted;
    } catch {
      // The store does not respond, which others report.
      this.#pets = undefined;
    }
    const endMs = performance.now();
    this.#nextMs = endMs + (endMs - startMs) / TIME_SHARE_MAX;
  }
}

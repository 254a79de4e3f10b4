import { readFileSync } from 'node:fs';

const WINDOW_MS = 200;
/** The kernel counts in hundredths of a second, on every platform that Node.js runs on. */
const TICK_MS = 10;

/** A response, with the time of its request on the clock of `Date.now()`. */
export interface Timed {
  sentMs: number;
  tookMs: number;
}

/**
 * Watches when the host of this virtual machine gives its processors to others. A request of that time, or of the
 * moment after it, shows how busy the host is and not how fast the service is.
 */
export class StolenTime implements Disposable {
  readonly #stolen: { fromMs: number; toMs: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #ticks = stolenTicks();
  #windowMs = Date.now();

  constructor() {
    this.#timer = setInterval(() => this.#endWindow(), WINDOW_MS);
  }

  #endWindow(): void {
    const ticks = stolenTicks();
    const nowMs = Date.now();
    if (ticks > this.#ticks) {
      this.#stolen.push({ fromMs: this.#windowMs, toMs: nowMs + WINDOW_MS });
    }
    this.#ticks = ticks;
    this.#windowMs = nowMs;
  }

  /** The responses during which the host was not busy, and what share of all they are. */
  undisturbed(all: readonly Timed[] = []): { tookMs: number[]; share: number } {
    const tookMs = all
      .filter((one) => !this.#affects(one))
      .map((one) => one.tookMs)
      .toSorted((a, b) => a - b);
    return { tookMs, share: tookMs.length / all.length };
  }

  #affects({ sentMs, tookMs }: Timed): boolean {
    return this.#stolen.some(({ fromMs, toMs }) => sentMs < toMs && sentMs + tookMs > fromMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** For how long the host has given the processors of this machine to others, since its start. */
export function stolenMs(): number {
  return stolenTicks() * TICK_MS;
}

/** 0 where the kernel does not tell. */
function stolenTicks(): number {
  try {
    return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]);
  } catch {
    return 0;
  }
}

export function p99(values: readonly number[]): number {
  const ascending = values.toSorted((one, other) => one - other);
  return ascending[Math.floor(ascending.length * 0.99)] ?? 0;
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}

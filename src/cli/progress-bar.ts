import type { Output } from './command.ts';

const REDRAW_INTERVAL_MS = 100;
const BAR_WIDTH = 24;

export interface ProgressState {
  count: number;
  /** How much of the whole is done, 0 to 1; undefined where nobody knows the whole. */
  share: number | undefined;
}

/** Count, rate and time left, redrawn in place on a terminal; anywhere else it is silent. */
export class ProgressBar {
  readonly #output: Output;
  readonly #elapsedMs: () => number;
  readonly #startedMs: number;
  #start: ProgressState | undefined;
  #drawnMs = Number.NEGATIVE_INFINITY;

  constructor(output: Output, elapsedMs: () => number) {
    this.#output = output;
    this.#elapsedMs = elapsedMs;
    this.#startedMs = elapsedMs();
  }

  show(state: ProgressState): void {
    this.#start ??= state;
    const nowMs = this.#elapsedMs();
    if (this.#output.isTTY !== true || nowMs - this.#drawnMs < REDRAW_INTERVAL_MS) return;
    this.#drawnMs = nowMs;
    const line = progressLine(state, this.#start, (nowMs - this.#startedMs) / 1000);
    this.#output.write(`\r\u001b[K${line.slice(0, (this.#output.columns ?? 80) - 1)}`);
  }

  /** Makes room for words; the next redraw stands below them. */
  clear(): void {
    if (this.#output.isTTY === true && this.#drawnMs > 0) this.#output.write('\r\u001b[K');
    this.#drawnMs = Number.NEGATIVE_INFINITY;
  }
}

/** The line at this state, of a work that began at `start` so many seconds ago. */
export function progressLine(state: ProgressState, start: ProgressState, seconds: number): string {
  const rate = seconds > 0 ? (state.count - start.count) / seconds : 0;
  const counts = `${state.count.toLocaleString('en-US')} animals, ${Math.round(rate).toLocaleString('en-US')} a second`;
  if (state.share === undefined) return counts;
  const filled = Math.round(state.share * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const doneShare = state.share - (start.share ?? 0);
  const left = doneShare > 0 ? (seconds / doneShare) * (1 - state.share) : undefined;
  const percent = `${Math.floor(state.share * 100)} %`.padStart(5);
  return `${bar} ${percent}  ${counts}${left === undefined ? '' : `, ${Math.ceil(left)} s left`}`;
}

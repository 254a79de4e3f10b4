// What commands, benchmarks and drills show to a person: tables and progress.

import { stripVTControlCharacters } from 'node:util';
import type { Output } from './command.ts';

const COLUMN_GAP = '  ';
const BAR_WIDTH = 24;
const LINE_WIDTH_DEFAULT = 80;
const REDRAW_INTERVAL_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

type Cell = string | number;

/** Rows in aligned columns. A line that is wider than the terminal continues on its next line. */
export function renderTable(rows: readonly (readonly Cell[])[]): string {
  const widths: number[] = [];
  for (const [at, cell] of rows.flatMap((row) => [...row.entries()])) {
    widths[at] = Math.max(widths[at] ?? 0, visibleWidth(cell));
  }
  const padded = (row: readonly Cell[]) =>
    row.map((cell, at) => {
      const width = at === row.length - 1 ? 0 : (widths[at] ?? 0);
      return `${cell}${' '.repeat(Math.max(0, width - visibleWidth(cell)))}`;
    });
  return rows.map((row) => `${padded(row).join(COLUMN_GAP)}\n`).join('');
}

function visibleWidth(cell: Cell): number {
  return stripVTControlCharacters(String(cell)).length;
}

interface BarState {
  count: number;
  /** How much of the whole is done, 0 to 1; undefined when the whole is unknown. */
  share: number | undefined;
}

/** One line on a terminal that is redrawn in place. */
export class Progress {
  readonly #output: Output;
  readonly #unit: string;
  readonly #startedMs = performance.now();
  #start: BarState | undefined;
  #drawnMs: number | undefined;

  /** `unit` is what the bar counts. */
  constructor(output: Output, unit = 'animals') {
    this.#output = output;
    this.#unit = unit;
  }

  /** Shows the current step. Without a terminal, each step is a line of its own. */
  show(step: string): void {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1000);
    const line = `${String(seconds).padStart(4)} s  ${step}`;
    if (this.#output.isTTY === true) this.#draw(line);
    else this.#output.write(`${line}\n`);
  }

  /** Shows count, rate and time left. Without a terminal, it shows nothing. */
  showBar(state: BarState): void {
    this.#start ??= state;
    const nowMs = performance.now();
    const isDue =
      this.#drawnMs === undefined ||
      nowMs - this.#drawnMs >= REDRAW_INTERVAL_MS ||
      state.share === 1;
    if (this.#output.isTTY !== true || !isDue) return;
    const seconds = (nowMs - this.#startedMs) / 1000;
    this.#draw(barLine(state, this.#start, { seconds, unit: this.#unit, width: this.#width() }));
  }

  /** Removes the line, so that other text can be written in its place. */
  clear(): void {
    if (this.#drawnMs !== undefined) this.#output.write(CLEAR_LINE);
    this.#drawnMs = undefined;
  }

  /** A line that fills the last column makes some terminals begin the next line. */
  #width(): number {
    return (this.#output.columns ?? LINE_WIDTH_DEFAULT) - 1;
  }

  #draw(line: string): void {
    this.#output.write(`${CLEAR_LINE}${line.slice(0, this.#width())}`);
    this.#drawnMs = performance.now();
  }
}

/** The line for work that was at `start` the given number of seconds ago. The bar takes the room that is left. */
function barLine(
  { count, share }: BarState,
  start: BarState,
  { seconds, unit, width }: { seconds: number; unit: string; width: number },
): string {
  const rate = seconds > 0 ? Math.round((count - start.count) / seconds) : 0;
  const counts = [`${count.toLocaleString('en-US')} ${unit}`];
  if (rate > 0) counts.push(`${rate.toLocaleString('en-US')} per second`);
  if (share === undefined) return counts.join(', ');
  const doneShare = share - (start.share ?? 0);
  if (doneShare > 0) counts.push(`${Math.ceil((seconds / doneShare) * (1 - share))} s left`);
  const text = ` ${`${Math.floor(share * 100)} %`.padStart(5)}  ${counts.join(', ')}`;
  const barWidth = Math.max(0, Math.min(BAR_WIDTH, width - text.length));
  const filled = Math.round(share * barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}${text}`;
}

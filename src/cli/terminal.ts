// What commands and drills show to a person: tables and progress.

import { stripVTControlCharacters } from 'node:util';
import type { Output } from './command.ts';

const COLUMN_GAP = '  ';
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

/** One line on a terminal that is redrawn in place: how many are done, and which share. Elsewhere it shows nothing. */
export class Progress {
  readonly #output: Output;
  readonly #unit: string;
  #drawnMs: number | undefined;

  /** `unit` is what is counted. */
  constructor(output: Output, unit = 'animals') {
    this.#output = output;
    this.#unit = unit;
  }

  show(count: number, share?: number): void {
    const nowMs = performance.now();
    const isDue = this.#drawnMs === undefined || nowMs - this.#drawnMs >= REDRAW_INTERVAL_MS;
    if (this.#output.isTTY !== true || !isDue) return;
    const percent = share === undefined ? '' : `${Math.floor(share * 100)} %  `;
    this.#output.write(`${CLEAR_LINE}${percent}${count.toLocaleString('en-US')} ${this.#unit}`);
    this.#drawnMs = nowMs;
  }

  /** Removes the line, so that other text can be written in its place. */
  clear(): void {
    if (this.#drawnMs !== undefined) this.#output.write(CLEAR_LINE);
    this.#drawnMs = undefined;
  }
}

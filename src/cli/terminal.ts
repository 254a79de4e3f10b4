// What commands, benchmarks and drills show to a person: tables, colours and progress.

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Io, Output } from './command.ts';

const COLUMN_GAP = '  ';
const BAR_WIDTH = 24;
const LINE_WIDTH_DEFAULT = 80;
const REDRAW_INTERVAL_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

type Cell = string | number;

interface Column {
  alignRight?: boolean;
  widthMin?: number;
}

/**
 * Returns a function that renders rows in aligned columns. A list can be rendered page by page: columns
 * keep the width of the pages before. Cells may be coloured.
 */
export function newTable(
  columns: readonly Column[] = [],
): (rows: readonly (readonly Cell[])[]) => string {
  const widths = columns.map(({ widthMin = 0 }) => widthMin);

  const pad = (cell: Cell, column: number, { length }: readonly Cell[]): string => {
    const padding = ' '.repeat((widths[column] ?? 0) - visibleWidth(cell));
    if (columns[column]?.alignRight === true) return `${padding}${cell}`;
    return column === length - 1 ? String(cell) : `${cell}${padding}`;
  };

  return (rows) => {
    for (const [column, cell] of rows.flatMap((row) => [...row.entries()])) {
      widths[column] = Math.max(widths[column] ?? 0, visibleWidth(cell));
    }
    return rows.map((row) => `${row.map(pad).join(COLUMN_GAP)}\n`).join('');
  };
}

/** The rows in aligned columns, one line per row. */
export function renderTable(rows: readonly (readonly Cell[])[]): string {
  return newTable()(rows);
}

function visibleWidth(cell: Cell): number {
  return stripVTControlCharacters(String(cell)).length;
}

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Colours text on a terminal; leaves it as it is elsewhere, or when NO_COLOR is set. */
export function newPaint({ stdout, env }: Pick<Io, 'stdout' | 'env'>): Paint {
  const isColoured = stdout.isTTY === true && !env['NO_COLOR'];
  return (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text);
}

/** Escapes characters that could control a terminal or reverse a line. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

interface BarState {
  count: number;
  /** How much of the whole is done, 0 to 1; undefined when the whole is unknown. */
  share: number | undefined;
}

/** One line on a terminal that is redrawn in place. */
export class Progress {
  readonly #output: Output;
  readonly #startedMs = performance.now();
  #start: BarState | undefined;
  #drawnMs: number | undefined;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows the current step. Elsewhere than on a terminal, each step is a line of its own. */
  show(step: string): void {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1000);
    const line = `${String(seconds).padStart(4)} s  ${step}`;
    if (this.#output.isTTY === true) this.#draw(line);
    else this.#output.write(`${line}\n`);
  }

  /** Shows count, rate and time left. Elsewhere than on a terminal, it shows nothing. */
  showBar(state: BarState): void {
    this.#start ??= state;
    const nowMs = performance.now();
    const isDue =
      this.#drawnMs === undefined ||
      nowMs - this.#drawnMs >= REDRAW_INTERVAL_MS ||
      state.share === 1;
    if (this.#output.isTTY !== true || !isDue) return;
    this.#draw(barLine(state, this.#start, (nowMs - this.#startedMs) / 1000));
  }

  /** Removes the line, so that other text can be written in its place. */
  clear(): void {
    if (this.#drawnMs !== undefined) this.#output.write(CLEAR_LINE);
    this.#drawnMs = undefined;
  }

  #draw(line: string): void {
    const width = (this.#output.columns ?? LINE_WIDTH_DEFAULT) - 1;
    this.#output.write(`${CLEAR_LINE}${line.slice(0, width)}`);
    this.#drawnMs = performance.now();
  }
}

/** The line for work that was at `start` the given number of seconds ago. */
function barLine({ count, share }: BarState, start: BarState, seconds: number): string {
  const rate = seconds > 0 ? (count - start.count) / seconds : 0;
  const counts = `${count.toLocaleString('en-US')} animals, ${Math.round(rate).toLocaleString('en-US')} per second`;
  if (share === undefined) return counts;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const doneShare = share - (start.share ?? 0);
  const left = doneShare > 0 ? (seconds / doneShare) * (1 - share) : undefined;
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${bar} ${percent}  ${counts}${left === undefined ? '' : `, ${Math.ceil(left)} s left`}`;
}

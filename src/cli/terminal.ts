// What commands, benchmarks and drills show to a person: tables, colours and progress.

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Io, Output } from './command.ts';

const COLUMN_GAP = '  ';
const BAR_WIDTH = 24;
const LINE_WIDTH_DEFAULT = 80;
const REDRAW_INTERVAL_MS = 100;
const CUT_WIDTH_MIN = 8;
const CLEAR_LINE = '\r\u001b[K';

type Cell = string | number;

interface Column {
  alignRight?: boolean;
  widthMin?: number;
}

/**
 * Returns a function that renders rows in aligned columns. A list can be rendered page by page: the first
 * page decides the widths, and a wider cell of a later page moves only the rest of its own line. Cells may
 * be coloured.
 */
export function newTable(
  columns: readonly Column[] = [],
): (rows: readonly (readonly Cell[])[]) => string {
  let widths: number[] | undefined;

  return (rows) => {
    const fixed = (widths ??= columnWidths(rows, columns));
    const pad = (cell: Cell, column: number, { length }: readonly Cell[]): string => {
      const padding = ' '.repeat(Math.max(0, (fixed[column] ?? 0) - visibleWidth(cell)));
      if (columns[column]?.alignRight === true) return `${padding}${cell}`;
      return column === length - 1 ? String(cell) : `${cell}${padding}`;
    };
    return rows.map((row) => `${row.map(pad).join(COLUMN_GAP)}\n`).join('');
  };
}

function columnWidths(rows: readonly (readonly Cell[])[], columns: readonly Column[]): number[] {
  const widths = columns.map(({ widthMin = 0 }) => widthMin);
  for (const [column, cell] of rows.flatMap((row) => [...row.entries()])) {
    widths[column] = Math.max(widths[column] ?? 0, visibleWidth(cell));
  }
  return widths;
}

/** The rows in aligned columns, one line per row. */
export function renderTable(rows: readonly (readonly Cell[])[]): string {
  return newTable()(rows);
}

interface ListColumn extends Column {
  title: string;
  /** Cut so that a line fits on the terminal. At most one column is; its cells have no colours. */
  isCut?: boolean;
}

/**
 * Returns a function that prints rows, page by page: as a table below one heading on a terminal, and
 * elsewhere as complete values separated by tabs.
 */
export function listPrinter(
  { stdout, env }: Pick<Io, 'stdout' | 'env'>,
  columns: readonly ListColumn[],
): (rows: readonly (readonly string[])[]) => void {
  if (stdout.isTTY !== true) {
    return (rows) => stdout.write(rows.map((row) => `${row.join('\t')}\n`).join(''));
  }
  const render = newTable(columns);
  const paint = newPaint({ stdout, env });
  const cutAt = columns.findIndex(({ isCut }) => isCut === true);
  let heading = [columns.map(({ title }) => paint('bold', title))];
  let widths: readonly number[] | undefined;

  const cutRow = (row: readonly string[], fixed: readonly number[]): string[] => {
    const others = row.reduce(
      (sum, cell, at) => (at === cutAt ? sum : sum + Math.max(fixed[at] ?? 0, visibleWidth(cell))),
      (row.length - 1) * COLUMN_GAP.length,
    );
    const room = Math.max(CUT_WIDTH_MIN, (stdout.columns ?? LINE_WIDTH_DEFAULT) - others);
    return row.map((cell, at) => (at === cutAt ? cutText(cell, room) : cell));
  };

  return (rows) => {
    if (rows.length === 0) return;
    const fixed = (widths ??= columnWidths([...heading, ...rows], columns));
    stdout.write(render([...heading, ...rows.map((row) => cutRow(row, fixed))]));
    heading = [];
  };
}

let segmenter: Intl.Segmenter | undefined;
/** Characters that take two columns on a terminal. */
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\uFE0F/u;

/** What a reader sees as one character may be several code points. */
function charactersOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function characterWidth(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}

function visibleWidth(cell: Cell): number {
  const text = stripVTControlCharacters(String(cell));
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return charactersOf(text).reduce((sum, each) => sum + characterWidth(each), 0);
}

function cutText(text: string, width: number): string {
  if (visibleWidth(text) <= width) return text;
  let [shown, used] = ['', 0];
  for (const character of charactersOf(text)) {
    used += characterWidth(character);
    if (used >= width) break;
    shown += character;
  }
  return `${shown}…`;
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
  readonly #unit: string;
  readonly #startedMs = performance.now();
  #start: BarState | undefined;
  #drawnMs: number | undefined;

  /** `unit` is what the bar counts. */
  constructor(output: Output, unit = 'animals') {
    this.#output = output;
    this.#unit = unit;
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
    const seconds = (nowMs - this.#startedMs) / 1000;
    this.#draw(barLine(state, this.#start, seconds, this.#unit));
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
function barLine(
  { count, share }: BarState,
  start: BarState,
  seconds: number,
  unit: string,
): string {
  const rate = seconds > 0 ? (count - start.count) / seconds : 0;
  const counts = `${count.toLocaleString('en-US')} ${unit}, ${Math.round(rate).toLocaleString('en-US')} per second`;
  if (share === undefined) return counts;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const doneShare = share - (start.share ?? 0);
  const left = doneShare > 0 ? (seconds / doneShare) * (1 - share) : undefined;
  const percent = `${Math.floor(share * 100)} %`.padStart(5);
  return `${bar} ${percent}  ${counts}${left === undefined ? '' : `, ${Math.ceil(left)} s left`}`;
}

/** A time to the second; a dash without one. */
export function timeText(date: Date | undefined): string {
  return date === undefined ? '-' : `${date.toISOString().slice(0, 19)}Z`;
}

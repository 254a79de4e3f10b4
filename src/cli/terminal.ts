// What commands, benchmarks and drills show to a person: tables, colours and progress.

import { stripVTControlCharacters, styleText } from 'node:util';
import type { Io, Output } from './command.ts';

const COLUMN_GAP = '  ';
const BAR_WIDTH = 24;
const LINE_WIDTH_DEFAULT = 80;
const REDRAW_INTERVAL_MS = 100;
/** A fitted column keeps this width for as long as there are other columns to leave out. */
const FITTED_WIDTH = 20;
/**
 * A fitted cell never gets narrower than this, even if its line is then too long. On 60 columns, this much is
 * left for a name beside the longest id, status and category.
 */
const FITTED_WIDTH_MIN = 6;
const WRAPPED = { fit: 'wrap' } as const;
const CLEAR_LINE = '\r\u001b[K';

type Cell = string | number;

interface Column {
  alignRight?: boolean;
  widthMin?: number;
  /** How a line is made to fit on the terminal. At most one column is fitted. */
  fit?: 'cut' | 'wrap';
  /** On a narrow terminal this column is left out. The lowest number is left out first. */
  leaveOut?: number;
}

interface Layout {
  /** The indexes of the columns that are shown. */
  shown: readonly number[];
  widths: readonly number[];
}

/**
 * Returns a function that renders rows in aligned columns, in lines of at most `lineWidth`. A list can be
 * rendered page by page: the first page decides the widths, and a wider cell of a later page moves only the
 * rest of its own line. Cells may be coloured, but not those of a fitted column.
 */
export function newTable(
  columns: readonly Column[] = [],
  lineWidth = Number.POSITIVE_INFINITY,
): (rows: readonly (readonly Cell[])[]) => string {
  let fixed: Layout | undefined;
  const fitted = columns.findIndex(({ fit }) => fit !== undefined);

  const linesOf = (row: readonly Cell[], { shown, widths }: Layout): string => {
    const cells = shown.filter((at) => at < row.length);
    const pad = (cell: Cell, at: number, isLast: boolean): string => {
      const padding = ' '.repeat(Math.max(0, (widths[at] ?? 0) - visibleWidth(cell)));
      if (columns[at]?.alignRight === true) return `${padding}${cell}`;
      return isLast ? String(cell) : `${cell}${padding}`;
    };
    const line = (valueAt: (at: number) => Cell) =>
      cells.map((at, index) => pad(valueAt(at), at, index === cells.length - 1)).join(COLUMN_GAP);
    const others = cells
      .filter((at) => at !== fitted)
      .map((at) => Math.max(widths[at] ?? 0, visibleWidth(row[at] ?? '')));
    const room = roomBeside(others, lineWidth);
    const [first = '', ...rest] = fitText(String(row[fitted] ?? ''), columns[fitted]?.fit, room);
    return [
      line((at) => (at === fitted ? first : (row[at] ?? ''))),
      ...rest.map((part) => line((at) => (at === fitted ? part : '')).trimEnd()),
    ].join('\n');
  };

  return (rows) => {
    const layout = (fixed ??= layOut(rows, columns, lineWidth));
    return rows.map((row) => `${linesOf(row, layout)}\n`).join('');
  };
}

function layOut(
  rows: readonly (readonly Cell[])[],
  columns: readonly Column[],
  lineWidth: number,
): Layout {
  const widths = columnWidths(rows, columns);
  const fitted = columns.findIndex(({ fit }) => fit !== undefined);
  let shown = [...widths.keys()];
  const least = (at: number) => Math.min(widths[at] ?? 0, at === fitted ? FITTED_WIDTH : Infinity);
  const spare = shown
    .filter((at) => columns[at]?.leaveOut !== undefined)
    .toSorted((a, b) => (columns[a]?.leaveOut ?? 0) - (columns[b]?.leaveOut ?? 0));
  while (spare.length > 0 && lineLength(shown.map(least)) > lineWidth) {
    const without = spare.shift();
    shown = shown.filter((at) => at !== without);
  }
  const others = shown.filter((at) => at !== fitted).map((at) => widths[at] ?? 0);
  const room = roomBeside(others, lineWidth);
  return {
    shown,
    widths: widths.map((width, at) => (at === fitted ? Math.min(width, room) : width)),
  };
}

function lineLength(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, (widths.length - 1) * COLUMN_GAP.length);
}

/** The width that is left for a fitted column beside the others. */
function roomBeside(others: readonly number[], lineWidth: number): number {
  return Math.max(FITTED_WIDTH_MIN, lineWidth - lineLength([...others, 0]));
}

function fitText(text: string, fit: Column['fit'], room: number): string[] {
  if (fit === 'wrap') return wrapText(text, room);
  return [fit === 'cut' ? cutText(text, room) : text];
}

function columnWidths(rows: readonly (readonly Cell[])[], columns: readonly Column[]): number[] {
  const widths = columns.map(({ widthMin = 0 }) => widthMin);
  for (const [column, cell] of rows.flatMap((row) => [...row.entries()])) {
    widths[column] = Math.max(widths[column] ?? 0, visibleWidth(cell));
  }
  return widths;
}

/** The rows in aligned columns, one line per row; a long last cell continues on the next line. */
export function renderTable(rows: readonly (readonly Cell[])[], lineWidth?: number): string {
  const last = Math.max(0, ...rows.map(({ length }) => length - 1));
  const columns = Array.from({ length: last + 1 }, (_, at) => (at === last ? WRAPPED : {}));
  return newTable(lineWidth === undefined ? [] : columns, lineWidth)(rows);
}

interface ListColumn extends Column {
  title: string;
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
  const render = newTable(columns, stdout.columns ?? LINE_WIDTH_DEFAULT);
  const paint = newPaint({ stdout, env });
  let heading = [columns.map(({ title }) => paint('bold', title))];
  return (rows) => {
    if (rows.length === 0) return;
    stdout.write(render([...heading, ...rows]));
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
  return visibleWidth(text) <= width ? text : `${startOf(text, width - 1)}…`;
}

/** The start of the text, as far as it fits. */
function startOf(text: string, width: number): string {
  let [shown, used] = ['', 0];
  for (const character of charactersOf(text)) {
    used += characterWidth(character);
    if (used > width) break;
    shown += character;
  }
  return shown;
}

/** Breaks a text between words into lines of at most `width`; a longer word is broken too. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (visibleWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (visibleWidth(line) > width) {
      const start = startOf(line, width);
      lines.push(start);
      line = line.slice(start.length);
    }
  }
  return [...lines, line];
}

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string;

/** Colours text on a terminal; leaves it as it is elsewhere, when NO_COLOR is set, or when TERM is dumb. */
export function newPaint({ stdout, env }: Pick<Io, 'stdout' | 'env'>): Paint {
  const isColoured = stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return (style, text) => (isColoured ? styleText(style, text, { validateStream: false }) : text);
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

/** A time to the second, or a dash for undefined. */
export function timeText(date: Date | undefined): string {
  return date === undefined ? '-' : `${date.toISOString().slice(0, 19)}Z`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/**
 * A time as people say it: "2 min ago", "in 90 d", "now" or "never". A time to come is rounded, so that a key
 * for 90 days does not end "in 89 d" from its first second.
 */
export function relativeTime(date: Date | undefined, now: Date): string {
  if (date === undefined) return 'never';
  const seconds = Math.round((now.getTime() - date.getTime()) / 1000);
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['s', 1];
  if (seconds === 0) return 'now';
  return seconds > 0
    ? `${Math.floor(seconds / size)} ${unit} ago`
    : `in ${Math.round(-seconds / size)} ${unit}`;
}

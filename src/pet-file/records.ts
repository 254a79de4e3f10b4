import { readCsvLine, type Separator } from './csv.ts';

/** A longer record is refused; a request body of one animal has the same limit. */
export const RECORD_BYTES_MAX = 64 * 1024;

/** Of a record in a message. */
const SHOWN_BYTES_MAX = 60;
const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = '\uFEFF';

/** One record of a file: its text, empty if it is overlong, and why it cannot be read. */
export interface SourceRecord {
  line: number;
  text: string;
  fault?: string;
}

/** The records of one piece of a file, and how many bytes and lines they take up with their line breaks. */
export interface Piece {
  records: SourceRecord[];
  byteCount: number;
  lines: number;
}

/** Where a record ends, undefined if its line break was not read yet; and why it cannot be read. */
interface RecordEnd {
  end: number | undefined;
  fault?: string;
}

/** What was read of a field that goes on at the start of the line at `from`. All lines until `at` begin inside it. */
interface OpenField {
  from: number;
  at: number;
  outcome: 'complete' | 'quoted' | 'faulty';
}

const NO_FIELD: OpenField = { from: 0, at: -1, outcome: 'complete' };

/**
 * Splits a stream of bytes into pieces of whole records, in constant memory and linear time. A record is a line; with a
 * separator it is a record of CSV, so that a line break inside a quoted field belongs to it. If such a field
 * is not closed properly, only its first line is refused: the next line is read as a new record.
 */
export class RecordSplitter {
  readonly #separator: Separator | undefined;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The bytes that were pushed and not yet split. One buffer for all chunks, to allocate no memory for each. */
  #buffer = new Uint8Array(0);
  #length = 0;
  #line: number;
  /** How many bytes of an overlong line were dropped already. */
  #droppedBytes = 0;
  #openField = NO_FIELD;
  #isAtStart: boolean;

  constructor(options: { separator: Separator | undefined; linesBefore: number }) {
    this.#separator = options.separator;
    this.#line = options.linesBefore + 1;
    this.#isAtStart = options.linesBefore === 0;
  }

  /** Returns the records that are complete with this chunk. The chunk itself is copied. */
  push(chunk: Uint8Array): Piece {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(length);
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return this.#split(this.#buffer.subarray(0, length), { isLast: false });
  }

  /** Returns the last record when the stream ends: it needs no line break. */
  end(): Piece {
    return this.#split(this.#buffer.subarray(0, this.#length), { isLast: true });
  }

  #split(bytes: Uint8Array, { isLast }: { isLast: boolean }): Piece {
    const piece: Piece = { records: [], byteCount: 0, lines: 0 };
    this.#openField = NO_FIELD;
    let start = 0;
    // At the end there may be no bytes left of an overlong line.
    const hasMore = () => start < bytes.length || (isLast && this.#droppedBytes > 0);
    while (hasMore()) {
      const { end, fault } = this.#endOfRecord(bytes, start, isLast);
      const record = bytes.subarray(start, end ?? bytes.length);
      const isOverlong = this.#droppedBytes + record.length > RECORD_BYTES_MAX;
      if (end === undefined) {
        if (!isOverlong) break;
        // Not counted in this piece: an import that continues after it must read the line from its start.
        this.#droppedBytes += record.length;
        start = bytes.length;
        break;
      }
      const breakBytes = end === bytes.length ? 0 : 1;
      const lines = (this.#separator === undefined ? 0 : countLines(record)) + breakBytes;
      const read = isOverlong
        ? this.#read(bytes.subarray(0, 0), `is over ${RECORD_BYTES_MAX} bytes long.`)
        : this.#read(record, fault);
      if (read !== undefined) piece.records.push(read);
      start += record.length + breakBytes;
      piece.byteCount += this.#droppedBytes + record.length + breakBytes;
      piece.lines += lines;
      this.#line += lines;
      this.#droppedBytes = 0;
    }
    this.#length = bytes.length - start;
    this.#buffer.copyWithin(0, start, bytes.length);
    return piece;
  }

  #endOfRecord(bytes: Uint8Array, start: number, isLast: boolean): RecordEnd {
    const lineEnd = endOfLine(bytes, start, isLast);
    const separator = this.#separator;
    // csvFieldsOrUndefined finds a quote in the wrong place of one line.
    if (lineEnd === undefined || lineEnd === bytes.length) return { end: lineEnd };
    if (separator === undefined || this.#droppedBytes > 0) return { end: lineEnd };
    const line = bytes.subarray(start, lineEnd);
    if (readCsvLine(line, separator, { startsQuoted: false }) !== 'quoted') return { end: lineEnd };

    const lastAt = start + RECORD_BYTES_MAX;
    const { outcome, at } = this.#readOpenField(bytes, lineEnd + 1, { separator, lastAt, isLast });
    if (outcome === 'complete' && at <= lastAt) return { end: at };
    if (outcome === 'quoted' && bytes.length <= lastAt && !isLast) return { end: undefined };
    return {
      end: lineEnd,
      fault: `opens a quoted field that is not closed properly; reading continued with line ${this.#line + 1}.`,
    };
  }

  /**
   * Reads a field that was opened before the line at `from`. Fields that are open at the same line break end at the
   * same place, whichever record opened them, so that every line is read once for all of them.
   */
  #readOpenField(
    bytes: Uint8Array,
    from: number,
    { separator, lastAt, isLast }: { separator: Separator; lastAt: number; isLast: boolean },
  ): OpenField {
    const isKnown = this.#openField.from <= from && from <= this.#openField.at;
    const field: OpenField = isKnown ? this.#openField : { from, at: from, outcome: 'quoted' };
    while (field.outcome === 'quoted' && field.at <= lastAt) {
      const end = endOfLine(bytes, field.at, isLast);
      if (end === undefined) break;
      field.outcome = readCsvLine(bytes.subarray(field.at, end), separator, { startsQuoted: true });
      // A field that is open at the end of the file is never closed.
      if (field.outcome === 'quoted' && end === bytes.length) field.outcome = 'faulty';
      field.at = field.outcome === 'quoted' ? end + 1 : end;
    }
    this.#openField = field;
    return field;
  }

  /** A record as text. An empty line is not a record. A byte order mark is removed. */
  #read(bytes: Uint8Array, fault: string | undefined): SourceRecord | undefined {
    const line = this.#line;
    const isAtStart = this.#isAtStart;
    this.#isAtStart = false;
    const decoded = this.#decode(bytes);
    const read = decoded ?? new TextDecoder().decode(bytes);
    const from = isAtStart && read.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    const text = read.slice(from, read.endsWith('\r') ? -1 : undefined);
    if (fault !== undefined) return { line, text, fault };
    if (decoded === undefined) return { line, text, fault: notUtf8(bytes) };
    return text === '' ? undefined : { line, text };
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

/** The place of the next line break. The last line of a file needs none. */
function endOfLine(bytes: Uint8Array, from: number, isLast: boolean): number | undefined {
  const at = bytes.indexOf(NEWLINE, from);
  if (at !== -1) return at;
  return isLast ? bytes.length : undefined;
}

/** Shows the record in the encoding that it probably has, so that a person can tell. */
function notUtf8(bytes: Uint8Array): string {
  const start = bytes.subarray(0, SHOWN_BYTES_MAX);
  const text = new TextDecoder('windows-1252').decode(start).trim();
  const rest = bytes.length > SHOWN_BYTES_MAX ? '…' : '';
  return `is not valid UTF-8. As Windows-1252 it is "${text}${rest}": if that is right, name the encoding windows-1252.`;
}

function countLines(record: Uint8Array): number {
  let count = 0;
  for (let at = record.indexOf(NEWLINE); at !== -1; at = record.indexOf(NEWLINE, at + 1))
    count += 1;
  return count;
}

import { findCsvRecordEnd, type Separator } from './csv.ts';
import { asWindows1252 } from './encoding.ts';

/** A longer record is refused; a request body has the same limit. */
export const RECORD_BYTES_MAX = 64 * 1024;

/** Of a record in a message. */
const SHOWN_BYTES_MAX = 60;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BYTE_ORDER_MARK = '\uFEFF';

/** One record of a file: its text, or why it cannot be read. */
export type SourceRecord = { line: number; text: string } | { line: number; fault: string };

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

/**
 * Splits a stream of bytes into pieces of whole records, in constant memory. A record is a line; with a
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
  #quoteAt = -1;
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
    this.#quoteAt = -1;
    let start = 0;
    // At the end there may be no bytes left of an overlong line.
    const hasMore = () => start < bytes.length || (isLast && this.#droppedBytes > 0);
    while (hasMore()) {
      const { end, fault } = this.#endOfRecord(bytes, start, isLast);
      const record = bytes.subarray(start, end ?? bytes.length);
      const isOverlong = this.#droppedBytes + record.length > RECORD_BYTES_MAX;
      if (end === undefined && !isLast) {
        if (!isOverlong) break;
        // Not counted in this piece: an import that continues after it must read the line from its start.
        this.#droppedBytes += record.length;
        start = bytes.length;
        break;
      }
      const breakBytes = end === undefined ? 0 : 1;
      const lines = (this.#separator === undefined ? 0 : countLines(record)) + breakBytes;
      const read = this.#read(
        record,
        isOverlong ? `is over ${RECORD_BYTES_MAX} bytes long.` : fault,
      );
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
    const lineEnd = bytes.indexOf(NEWLINE, start);
    if (lineEnd === -1) return { end: undefined };
    const separator = this.#separator;
    if (separator === undefined) return { end: lineEnd };
    const isPlainLine = this.#droppedBytes > 0 || this.#nextQuote(bytes, start) > lineEnd;
    if (isPlainLine) return { end: lineEnd };
    const examined = bytes.subarray(start, start + RECORD_BYTES_MAX + 1);
    const { outcome, at } = findCsvRecordEnd(examined, separator);
    if (outcome === 'complete') return { end: start + at };
    const isUnclosed =
      outcome === 'faulty' || examined.length > RECORD_BYTES_MAX || (outcome === 'open' && isLast);
    if (!isUnclosed) return { end: undefined };
    const line = this.#line;
    const lastLine = line + countLines(examined.subarray(0, at));
    // csvFieldsOrUndefined finds a misplaced quote in the first line.
    if (lastLine === line) return { end: lineEnd };
    return {
      end: lineEnd,
      fault: `opens a quoted field that is not closed properly (lines ${line} to ${lastLine}); reading continued with line ${line + 1}.`,
    };
  }

  /** Remembered: if quotes are rare, every record would search for the same distant one. */
  #nextQuote(bytes: Uint8Array, from: number): number {
    if (this.#quoteAt < from) {
      const at = bytes.indexOf(QUOTE, from);
      this.#quoteAt = at === -1 ? Number.POSITIVE_INFINITY : at;
    }
    return this.#quoteAt;
  }

  /** A record as text. An empty line is not a record. A byte order mark is removed. */
  #read(bytes: Uint8Array, fault: string | undefined): SourceRecord | undefined {
    const line = this.#line;
    const isAtStart = this.#isAtStart;
    this.#isAtStart = false;
    if (fault !== undefined) return { line, fault };
    const text = this.#decode(bytes);
    if (text === undefined) return { line, fault: notUtf8(bytes) };
    const from = isAtStart && text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    const content = text.slice(from, text.endsWith('\r') ? -1 : undefined);
    return content === '' ? undefined : { line, text: content };
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

/** Shows the record in the encoding that it probably has, so that a person can tell. */
export function notUtf8(bytes: Uint8Array): string {
  const text = asWindows1252(bytes.subarray(0, SHOWN_BYTES_MAX)).trim();
  const rest = bytes.length > SHOWN_BYTES_MAX ? '…' : '';
  return `is not valid UTF-8. As Windows-1252 it is "${text}${rest}": if that is right, add --encoding windows-1252.`;
}

function countLines(record: Uint8Array): number {
  let count = 0;
  for (let at = record.indexOf(NEWLINE); at !== -1; at = record.indexOf(NEWLINE, at + 1))
    count += 1;
  return count;
}

import { isUtf8 } from 'node:buffer';

/** A record longer than this is refused unread; a request body is held to the same. */
export const RECORD_BYTES_MAX = 64 * 1024;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** One record of a file: its text, or why it cannot be read. */
export type SourceRecord = { line: number; text: string } | { line: number; fault: string };

/** The records of one piece of a file, and the bytes and lines that they and their ends take up. */
export interface Piece {
  records: SourceRecord[];
  byteCount: number;
  lines: number;
}

/**
 * Cuts a stream of bytes into pieces of whole records, in constant memory. A record is a line; with
 * `hasQuotes`, a line break between double quotes belongs to the record, as CSV has it.
 */
export class RecordSplitter {
  readonly #hasQuotes: boolean;
  /** What was pushed and not yet cut. One buffer for all chunks: a new one each would soon be hundreds. */
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;
  #line: number;
  /** What of an overlong record has gone by already. */
  #passedOver = { bytes: 0, lines: 0 };
  #quoteAt = -1;
  #isAtStart: boolean;

  constructor(options: { hasQuotes: boolean; linesBefore: number }) {
    this.#hasQuotes = options.hasQuotes;
    this.#line = options.linesBefore + 1;
    this.#isAtStart = options.linesBefore === 0;
  }

  /** The records that are complete with this chunk, which is not kept. */
  push(chunk: Uint8Array): Piece {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.alloc(length);
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return this.#cut(this.#buffer.subarray(0, length), { isLast: false });
  }

  /** What is left when the stream ends: a last line needs no line break. */
  end(): Piece {
    return this.#cut(this.#buffer.subarray(0, this.#length), { isLast: true });
  }

  #cut(bytes: Buffer, { isLast }: { isLast: boolean }): Piece {
    const piece: Piece = { records: [], byteCount: 0, lines: 0 };
    const isAllText = isUtf8(bytes);
    this.#quoteAt = -1;
    let start = 0;
    while (start < bytes.length) {
      const end = this.#endOfRecord(bytes, start);
      const record = bytes.subarray(start, end ?? bytes.length);
      const isOverlong = this.#passedOver.bytes + record.length > RECORD_BYTES_MAX;
      if (end === undefined && !isLast && !isOverlong) break;
      start += record.length + (end === undefined ? 0 : 1);
      const lines = countLines(record, this.#hasQuotes) + (end === undefined ? 0 : 1);
      if (end === undefined && !isLast) {
        // Not a part of this piece: whoever goes on behind it must find the record from its start.
        this.#passedOver.bytes += record.length;
        this.#passedOver.lines += lines;
        break;
      }
      const read = isOverlong ? this.#refuse() : this.#read(record, isAllText);
      if (read !== undefined) piece.records.push(read);
      piece.byteCount += this.#passedOver.bytes + record.length + (end === undefined ? 0 : 1);
      piece.lines += this.#passedOver.lines + lines;
      this.#line += this.#passedOver.lines + lines;
      this.#passedOver = { bytes: 0, lines: 0 };
    }
    this.#length = bytes.length - start;
    this.#buffer.copyWithin(0, start, bytes.length);
    return piece;
  }

  /** Where the record that starts here ends: a line break outside quotes, or any once it is overlong. */
  #endOfRecord(bytes: Buffer, start: number): number | undefined {
    let end = bytes.indexOf(NEWLINE, start);
    if (!this.#hasQuotes || this.#passedOver.bytes > 0) return end === -1 ? undefined : end;
    let isInQuotes = false;
    let from = start;
    while (end !== -1) {
      for (let at = this.#nextQuote(bytes, from); at < end; at = this.#nextQuote(bytes, at + 1)) {
        isInQuotes = !isInQuotes;
      }
      if (!isInQuotes || end - start > RECORD_BYTES_MAX) return end;
      from = end + 1;
      end = bytes.indexOf(NEWLINE, from);
    }
    return undefined;
  }

  /** Remembered, because where quotes are rare the same far one would be looked for by every record. */
  #nextQuote(bytes: Buffer, from: number): number {
    if (this.#quoteAt < from) {
      const at = bytes.indexOf(QUOTE, from);
      this.#quoteAt = at === -1 ? Number.POSITIVE_INFINITY : at;
    }
    return this.#quoteAt;
  }

  #refuse(): SourceRecord {
    this.#isAtStart = false;
    return { line: this.#line, fault: `is over ${RECORD_BYTES_MAX} bytes long.` };
  }

  /** A record as text. An empty line is none, and so is what a byte order mark stands before. */
  #read(bytes: Buffer, isAllText: boolean): SourceRecord | undefined {
    const line = this.#line;
    const isMarked = this.#isAtStart && bytes.indexOf(BYTE_ORDER_MARK) === 0;
    this.#isAtStart = false;
    const content = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
    if (!isAllText && !isUtf8(content)) return { line, fault: 'is not valid UTF-8.' };
    const text = content.toString();
    const trimmed = text.endsWith('\r') ? text.slice(0, -1) : text;
    return trimmed === '' ? undefined : { line, text: trimmed };
  }
}

function countLines(record: Buffer, hasQuotes: boolean): number {
  if (!hasQuotes) return 0;
  let count = 0;
  for (let at = record.indexOf(NEWLINE); at !== -1; at = record.indexOf(NEWLINE, at + 1))
    count += 1;
  return count;
}

import { Refusal } from '../domain/errors.ts';
import { parseJson } from '../domain/json.ts';
import type { NewPet } from '../domain/pet.ts';
import { PetFileError, type Layout, type TableLayout } from './layout.ts';
import { petOfJson, rowReader, type ReadPet } from './read-pet.ts';
import { RecordSplitter, type Piece, type SourceRecord } from './records.ts';

/** A JSON array is parsed as a whole, so its size is limited. */
const ARRAY_MEBIBYTES_MAX = 16;
const ITEMS_PER_PIECE = 1_000;

export interface LineFault {
  /** The line on which it starts; in a JSON array, the number of the item from 1. */
  line: number;
  /** How many lines are invalid: a CSV record may have several. */
  lines: number;
  reason: string;
  /** The record; empty if it is overlong, or nested too deeply. */
  text: string;
}

/** The animals of one piece of a file, and its invalid lines. */
export interface PetPiece {
  pets: NewPet[];
  faults: LineFault[];
  byteCount: number;
  lines: number;
}

/** Reads animals from the bytes of a file, piece by piece. */
interface PetReader {
  /** Returns the animals that are complete with this chunk, if any are. */
  push: (chunk: Uint8Array) => PetPiece[];
  /** Returns the rest when the file ends. */
  end: () => Iterable<PetPiece>;
}

/**
 * `linesBefore` lines were read before: a reader of lines continues behind them, and one of a JSON array gets the whole
 * file again.
 */
export function newPetReader(layout: Layout, linesBefore = 0): PetReader {
  return layout.format === 'json'
    ? new ArrayReader(linesBefore)
    : new LineReader(layout.format === 'csv' ? layout : undefined, linesBefore);
}

/** What the faults of a layout are counted in. */
export function unitOf({ format }: Layout): 'line' | 'item' {
  return format === 'json' ? 'item' : 'line';
}

class LineReader implements PetReader {
  readonly #splitter: RecordSplitter;
  readonly #readPet: ReadPet;
  #isHeaderNext: boolean;

  constructor(table: TableLayout | undefined, linesBefore: number) {
    this.#splitter = new RecordSplitter({ separator: table?.separator, linesBefore });
    this.#readPet =
      table === undefined ? (record) => petOfJson(parseJson(record)) : rowReader(table);
    this.#isHeaderNext = table?.hasHeadings === true && linesBefore === 0;
  }

  push(chunk: Uint8Array): PetPiece[] {
    return this.#read(this.#splitter.push(chunk));
  }

  end(): PetPiece[] {
    return this.#read(this.#splitter.end());
  }

  #read({ records, byteCount, lines }: Piece): PetPiece[] {
    if (byteCount === 0) return [];
    const piece: PetPiece = { pets: [], faults: [], byteCount, lines };
    for (const record of records) {
      if (this.#isHeaderNext) this.#isHeaderNext = false;
      else this.#readRecord(record, piece);
    }
    return [piece];
  }

  #readRecord(record: SourceRecord, piece: PetPiece): void {
    if (record.fault !== undefined) {
      const { line, text, fault } = record;
      piece.faults.push({ line, lines: 1, reason: `The line ${fault}`, text });
      return;
    }
    try {
      const pet = this.#readPet(record.text);
      if (pet !== undefined) piece.pets.push(pet);
    } catch (error) {
      const { line, text } = record;
      const lines = text.split('\n').length;
      piece.faults.push({ line, lines, reason: reasonOf(error, 'line'), text });
    }
  }
}

/** Reads a JSON array, as the interface returns it, when all of it is there. */
class ArrayReader implements PetReader {
  readonly #itemsBefore: number;
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #sizeBytes = 0;

  constructor(itemsBefore: number) {
    this.#itemsBefore = itemsBefore;
  }

  push(chunk: Uint8Array): PetPiece[] {
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes > ARRAY_MEBIBYTES_MAX * 1024 ** 2) {
      throw new PetFileError(
        `The file is a JSON array of over ${ARRAY_MEBIBYTES_MAX} MiB: write one object per line instead, with jq -c '.[]'.`,
      );
    }
    this.#chunks.push(Uint8Array.from(chunk));
    return [];
  }

  *end(): Generator<PetPiece> {
    const items = this.#parse();
    // The bytes of a piece are its share of the file: items can be counted, but their places are not known.
    const bytesUntil = (count: number) => Math.floor((this.#sizeBytes * count) / items.length);
    for (let from = this.#itemsBefore; from < items.length; from += ITEMS_PER_PIECE) {
      const to = Math.min(from + ITEMS_PER_PIECE, items.length);
      const byteCount = bytesUntil(to) - bytesUntil(from);
      const piece: PetPiece = { pets: [], faults: [], byteCount, lines: to - from };
      for (const [index, item] of items.slice(from, to).entries()) {
        this.#readItem(item, from + index + 1, piece);
      }
      yield piece;
    }
  }

  #readItem(item: unknown, line: number, piece: PetPiece): void {
    try {
      piece.pets.push(petOfJson(item));
    } catch (error) {
      piece.faults.push({ line, lines: 1, reason: reasonOf(error, 'item'), text: jsonOf(item) });
    }
  }

  #parse(): unknown[] {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    try {
      const parts = this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
      // Its first character is a bracket.
      return parseJson(parts.join('') + decoder.decode()) as unknown[];
    } catch (cause) {
      if (cause instanceof TypeError) {
        throw new PetFileError(
          'The file is not valid UTF-8: if it is Windows-1252, name the encoding windows-1252.',
        );
      }
      if (!(cause instanceof Refusal)) throw cause;
      const detail = cause.cause instanceof Error ? ` (${cause.cause.message})` : '';
      throw new PetFileError(`The file is not one valid JSON array${detail}.`, { cause });
    }
  }
}

/** The JSON of a value that was parsed without rounding; empty if it is nested too deeply. */
function jsonOf(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  try {
    return JSON.stringify(value, (_, each: unknown) =>
      typeof each === 'bigint' ? rawJSON(String(each)) : each,
    );
  } catch (error) {
    if (error instanceof RangeError) return '';
    throw error;
  }
}

/** Why a record is not an animal. Rethrows every other error. */
function reasonOf(error: unknown, unit: 'line' | 'item'): string {
  if (!(error instanceof Refusal)) throw error;
  return error.message.replace(/^The body/, `The ${unit}`);
}

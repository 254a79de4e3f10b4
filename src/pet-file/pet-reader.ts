import { Refusal } from '../domain/errors.ts';
import type { NewPet } from '../domain/pet.ts';
import {
  HeaderError,
  ndjsonReader,
  parseCsvHeader,
  type PetFormat,
  type PetRules,
  type ReadPet,
} from './read-pet.ts';
import { RecordSplitter, type Piece, type SourceRecord } from './records.ts';

export interface LineFault {
  line: number;
  /** How many lines were skipped: a CSV record may have several. */
  lines: number;
  reason: string;
}

/** The animals of one piece of a file, and its bad lines. */
export interface PetPiece {
  pets: NewPet[];
  /** The line on which each of the animals starts. */
  petLines: number[];
  faults: LineFault[];
  byteCount: number;
  lines: number;
}

export interface PetReaderOptions {
  rules: PetRules;
  /** Lines of the file that were read before; 0 at its start. */
  linesBefore: number;
  /** How records are read; given when reading starts after the header. */
  readPet?: ReadPet | undefined;
  /** Stop at the first line that is not an animal. */
  isStrict: boolean;
}

/** Reads animals from the bytes of a file, piece by piece. It runs in Node.js and in browsers. */
export class PetReader {
  readonly #splitter: RecordSplitter;
  readonly #rules: PetRules;
  readonly #isStrict: boolean;
  #readPet: ReadPet | undefined;

  constructor(format: PetFormat, { rules, linesBefore, readPet, isStrict }: PetReaderOptions) {
    this.#splitter = new RecordSplitter({ hasQuotes: format === 'csv', linesBefore });
    this.#readPet = readPet ?? (format === 'ndjson' ? ndjsonReader(rules) : undefined);
    this.#rules = rules;
    this.#isStrict = isStrict;
  }

  /** Undefined for CSV until its header was read. */
  get readPet(): ReadPet | undefined {
    return this.#readPet;
  }

  push(chunk: Uint8Array): PetPiece {
    return this.#read(this.#splitter.push(chunk));
  }

  end(): PetPiece {
    return this.#read(this.#splitter.end());
  }

  #read({ records, byteCount, lines }: Piece): PetPiece {
    const piece: PetPiece = { pets: [], petLines: [], faults: [], byteCount, lines };
    for (const record of records) {
      if (this.#isStrict && piece.faults.length > 0) break;
      if (this.#readPet === undefined) this.#readPet = readHeader(record, this.#rules);
      else this.#readRecord(record, this.#readPet, piece);
    }
    return piece;
  }

  #readRecord(record: SourceRecord, readPet: ReadPet, piece: PetPiece): void {
    if ('fault' in record) {
      piece.faults.push({ line: record.line, lines: 1, reason: `The line ${record.fault}` });
      return;
    }
    try {
      piece.pets.push(readPet(record.text));
      piece.petLines.push(record.line);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const reason = error.message.replace(/^The body/, 'The line');
      piece.faults.push({ line: record.line, lines: record.text.split('\n').length, reason });
    }
  }
}

function readHeader(record: SourceRecord, rules: PetRules): ReadPet {
  if ('fault' in record) throw new HeaderError(`the first line of the file ${record.fault}`);
  return parseCsvHeader(record.text, rules);
}

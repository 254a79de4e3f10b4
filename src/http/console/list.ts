import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '../../domain/errors.ts';
import type { NewPet } from '../../domain/pet.ts';
import { fieldOf, type Columns } from '../../pet-file/columns.ts';
import { markedEncoding, type Encoding } from '../../pet-file/encoding.ts';
import {
  detectLayout,
  LAYOUT_BYTES,
  PetFileError,
  refuseSpreadsheet,
  sourceOf,
  type Layout,
  type TableLayout,
} from '../../pet-file/layout.ts';
import { newPetReader, type LineFault, type PetPiece } from '../../pet-file/pet-reader.ts';

/** The most lines of a list that are no empty ones, valid or not. */
const LINES_MAX = 5_000;
/** Other requests are served after each of these parts. */
const CHUNK_BYTES = 8 * 1024;

/** What a person says about a list. */
export interface ListOptions {
  columns: Columns | undefined;
  encoding: Encoding | undefined;
}

/** A list that was read to its end. */
export interface PetList {
  /** Identifies it by its content. */
  source: string;
  sizeBytes: number;
  lines: number;
  layout: Layout;
  pets: NewPet[];
  faults: LineFault[];
}

/** The list as UTF-8. Throws a PetFileError if it is no text. */
export function textOf(bytes: Uint8Array, { encoding = 'utf-8' }: ListOptions): Uint8Array {
  refuseSpreadsheet(bytes);
  const found = markedEncoding(bytes) ?? encoding;
  if (found === 'utf-8') return bytes;
  try {
    return new TextEncoder().encode(new TextDecoder(found, { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new PetFileError(`The file is not valid ${found.toUpperCase()}.`, { cause });
  }
}

/** Reads a list as `petstore import` does. Throws a PetFileError if it is not a list. */
export async function readList(text: Uint8Array, { columns }: ListOptions): Promise<PetList> {
  const layout = detectLayout(text.subarray(0, LAYOUT_BYTES), columns);
  const digest = createHash('sha256').update(text).digest('hex');
  const list: PetList = {
    source: sourceOf(layout, digest),
    sizeBytes: text.length,
    lines: 0,
    layout,
    pets: [],
    faults: [],
  };
  const reader = newPetReader(layout);
  for (let at = 0; at < text.length; at += CHUNK_BYTES) {
    take(list, reader.push(text.subarray(at, at + CHUNK_BYTES)));
    await nextTurn();
  }
  take(list, reader.end());
  return list;
}

function take(list: PetList, pieces: Iterable<PetPiece>): void {
  for (const { pets, faults, lines } of pieces) {
    list.pets.push(...pets);
    list.faults.push(...faults);
    list.lines += lines;
    if (list.pets.length + list.faults.length <= LINES_MAX) continue;
    throw new Refusal(
      'body_too_large',
      `The list has over ${LINES_MAX.toLocaleString('en')} lines: add it in parts, or use petstore import.`,
    );
  }
}

/** The faulty lines as a list of their own, which can be read without a choice of columns or of an encoding. */
export function faultyLines({ layout, faults }: PetList): string {
  const texts = faults.map(({ text }) => text).filter((text) => text !== '');
  if (texts.length === 0) return '';
  if (layout.format === 'json') return `[${texts.join(',\n')}]`;
  const lines = layout.format === 'csv' ? [headingLine(layout), ...texts] : texts;
  return lines.map((line) => `${line}\n`).join('');
}

/** Names the columns that were used as the reader knows them, and no others so. */
function headingLine({ headings, hasHeadings, columns, separator }: TableLayout): string {
  const fields = Object.entries(columns);
  const cells = headings.map((heading, at) => {
    const [field] = fields.find(([, column]) => column === at) ?? [];
    const isFree = hasHeadings && fieldOf(heading) === undefined;
    return field ?? (isFree ? heading.replaceAll(/[",;\t\r\n]/g, ' ') : '');
  });
  return cells.join(separator);
}

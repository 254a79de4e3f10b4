import { isUtf8 } from 'node:buffer';
import { Refusal } from '../../domain/errors.ts';
import { parseOnce, refusalOf } from '../../domain/page.ts';
import type { ImportProgress } from '../../domain/store.ts';
import { parseColumns } from '../../pet-file/columns.ts';
import { markedEncoding } from '../../pet-file/encoding.ts';
import {
  LAYOUT_BYTES,
  layoutWords,
  PetFileError,
  sampleTable,
  UnknownColumns,
  type TableSample,
} from '../../pet-file/layout.ts';
import { unitOf } from '../../pet-file/pet-reader.ts';
import { requireMediaType } from '../json-body.ts';
import { jsonResponse, type HttpResponse } from '../message.ts';
import type { OperationParts, RequestContext } from '../operation.ts';
import { parseQuery } from '../target.ts';
import { faultyLines, readList, textOf, type ListOptions, type PetList } from './list.ts';

export const LIST_MEDIA_TYPES = [
  'text/plain',
  'text/csv',
  'application/x-ndjson',
  'application/octet-stream',
];
export const LIST_BYTES_MAX = 1024 * 1024;
/** Each takes several times its size: together, those that may wait would take more memory than all other requests. */
const LISTS_AT_ONCE_MAX = 4;
const PETS_SHOWN_MAX = 5;
const FAULTS_SHOWN_MAX = 20;
const ROWS_SHOWN_MAX = 6;

const ENCODINGS = ['utf-8', 'windows-1252'] as const;

interface ImportOptions extends ListOptions {
  isDryRun: boolean;
  isSkipping: boolean;
  /** The name of a repetition on purpose. */
  again: string | undefined;
}

let listsInWork = 0;

/** Adds the animals of a list in one transaction, once for each list; or shows what it would add. */
export async function importPets(
  context: RequestContext,
  parts: OperationParts,
): Promise<HttpResponse> {
  requireMediaType(context.request, LIST_MEDIA_TYPES);
  const bytes = await context.request.readBody();
  // The key may have been revoked or have expired while the body was being received.
  await parts.authenticate(context.request);
  const options = parseOptions(context);
  if (listsInWork === LISTS_AT_ONCE_MAX) {
    throw new Refusal('overloaded', 'Other lists are being added: send it again.');
  }
  listsInWork += 1;
  try {
    const body = options.isDryRun
      ? await showList(bytes, options, parts)
      : await addList(bytes, options, parts);
    return jsonResponse(200, JSON.stringify(body), ['Cache-Control', 'no-store']);
  } finally {
    listsInWork -= 1;
  }
}

/** What a list would add, and which of its lines are faulty; or why it cannot be read as a whole. */
async function showList(bytes: Uint8Array, options: ImportOptions, { store }: OperationParts) {
  const isKnown = options.encoding !== undefined || markedEncoding(bytes) !== undefined;
  const encoding = { needsEncoding: !isKnown && !isUtf8(bytes) };
  try {
    const text = textOf(bytes, options);
    const list = await readList(text, options);
    const { layout, pets, faults } = list;
    const isTable = layout.format === 'csv';
    const sample = isTable ? sampleTable(text.subarray(0, LAYOUT_BYTES)) : undefined;
    return {
      ...encoding,
      layout: layoutWords(layout),
      unit: unitOf(layout),
      table: sample && shownTable({ ...sample, guess: isTable ? layout.columns : sample.guess }),
      animals: pets.length,
      // As a text, because a page would round the number.
      first: pets
        .slice(0, PETS_SHOWN_MAX)
        .map((pet) => ({ ...pet, categoryId: String(pet.categoryId) })),
      faultCount: faults.length,
      faults: faults
        .slice(0, FAULTS_SHOWN_MAX)
        .map(({ line, lines, reason }) => ({ line, lines, reason })),
      addedBefore: shownProgress(await store.findImport(sourceOfImport(list, options))),
    };
  } catch (error) {
    if (!(error instanceof PetFileError)) throw error;
    const table = error instanceof UnknownColumns ? shownTable(error.sample) : undefined;
    return { ...encoding, fault: error.message, table };
  }
}

/** The first lines of a table, and the numbers of its columns for name, category and status, from 1. */
function shownTable({ rows, guess }: TableSample) {
  const { name, categoryId, status } = guess;
  const columns = [name, categoryId, status].map((at) => (at === undefined ? null : at + 1));
  return { rows: rows.slice(0, ROWS_SHOWN_MAX), columns };
}

/** Adds the list if it was not added before. A request that is repeated adds nothing twice. */
async function addList(
  bytes: Uint8Array,
  options: ImportOptions,
  { store, metrics }: OperationParts,
) {
  const list = await readWhole(bytes, options);
  const { pets, faults, lines, sizeBytes: position } = list;
  const source = sourceOfImport(list, options);
  const skipped = faults.reduce((sum, fault) => sum + fault.lines, 0);
  const to: ImportProgress = { source, position, lines, imported: pets.length, skipped };
  let before = await store.findImport(source);
  // Otherwise the same list was added in this moment by another request.
  const isAdded = before === undefined && (await store.importPets(pets, { from: 0, to }));
  if (isAdded) metrics.petsCreated += pets.length;
  else before ??= await store.findImport(source);
  return {
    added: isAdded ? pets.length : 0,
    addedBefore: shownProgress(before),
    faultyLines: faultyLines(list),
  };
}

/** Throws a Refusal for a list that cannot be read, has a faulty line that is not to be skipped, or adds nothing. */
async function readWhole(bytes: Uint8Array, options: ImportOptions): Promise<PetList> {
  let list: PetList;
  try {
    list = await readList(textOf(bytes, options), options);
  } catch (error) {
    if (!(error instanceof PetFileError)) throw error;
    throw new Refusal('invalid_field', `${error.message} Nothing was added.`);
  }
  const [first] = list.faults;
  if (first !== undefined && !options.isSkipping) {
    const unit = unitOf(list.layout);
    const many = list.faults.length === 1 ? `1 ${unit} is` : `${list.faults.length} ${unit}s are`;
    throw new Refusal(
      'invalid_field',
      `Nothing was added, because ${many} invalid; the first is ${unit} ${first.line}: ${first.reason}`,
    );
  }
  if (list.pets.length > 0) return list;
  throw new Refusal('invalid_field', 'The list has no valid animal, so nothing was added.');
}

function sourceOfImport({ source }: PetList, { again }: ImportOptions): string {
  return again === undefined ? source : `${source}:again:${again}`;
}

function shownProgress(progress: ImportProgress | undefined) {
  return progress && { animals: progress.imported, skipped: progress.skipped };
}

function parseSwitch(text: string): true | undefined {
  return text === '' || undefined;
}

function parseOptions(context: RequestContext): ImportOptions {
  const { values, unknownFault } = parseQuery(context);
  const faults: Refusal[] = [];
  const read = <Value>(
    name: string,
    parse: (text: string) => Value | undefined,
    mustBe: string,
  ): Value | undefined => {
    const fault = new Refusal('invalid_parameter', `${name} must be ${mustBe}.`);
    const value = parseOnce(values, name, (text) => parse(text) ?? fault);
    if (!(value instanceof Refusal)) return value;
    faults.push(value);
    return undefined;
  };
  const options: ImportOptions = {
    isDryRun: read('dry-run', parseSwitch, 'without a value') ?? false,
    isSkipping: read('skip-invalid', parseSwitch, 'without a value') ?? false,
    columns: read('columns', parseColumns, 'two or three numbers such as 2,3,4'),
    encoding: read(
      'encoding',
      (text) => ENCODINGS.find((known) => known === text),
      `one of ${ENCODINGS.join(', ')}`,
    ),
    again: read(
      'again',
      (text) => (/^[\w-]{1,64}$/.test(text) ? text : undefined),
      '1 to 64 letters, digits, _ or -',
    ),
  };
  if (unknownFault !== undefined) faults.push(unknownFault);
  if (faults.length > 0) throw refusalOf(faults);
  return options;
}

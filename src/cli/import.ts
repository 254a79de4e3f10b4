import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { oneOf, UsageError } from '../setting.ts';
import { Refusal } from '../domain/errors.ts';
import type { CatalogueAdministration, ImportProgress } from '../domain/store.ts';
import { PetReader, type PetPiece } from '../pet-file/pet-reader.ts';
import { HeaderError, type PetFormat } from '../pet-file/read-pet.ts';
import { defineCommand } from './command.ts';
import { CREATE_SWITCH, openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { refusalLine } from './failure.ts';
import { inspectFile, readChunks } from './import-file.ts';
import { ImportReport } from './import-report.ts';
import { formatOfFile, PET_FORMATS, PET_RULES } from './pet-format.ts';
import { Suspension } from './suspension.ts';

/** The file name that means standard input. */
const STANDARD_INPUT = '-';

interface Import {
  store: CatalogueAdministration;
  report: ImportReport;
  format: PetFormat;
  isStrict: boolean;
  suspension: Suspension;
}

/** The input from the position at which this import starts, and the progress of an earlier one. */
interface Source {
  chunks: AsyncIterable<Uint8Array>;
  reader: PetReader;
  before: ImportProgress;
  /** Whether the store records the progress, so that a later import can continue. */
  isResumable: boolean;
  sizeBytes: number | undefined;
}

export const importPets = defineCommand({
  purpose: 'Add the animals of a file',
  arguments: [{ name: 'FILE', description: 'a file with animals, or - for standard input' }],
  options: {
    format: {
      ...oneOf(PET_FORMATS),
      defaultText: 'csv for a file named *.csv, else ndjson',
      description: 'the format of the file',
    },
    ...STORE_OPTIONS,
  },
  switches: { strict: 'add nothing of a file that has a bad line', ...CREATE_SWITCH },
  notes: `Bad lines are reported and skipped, and the exit code is then 1. To continue an import that was
stopped, run the same command again: no animal is added twice.`,
  examples: ['import animals.ndjson', 'import - --format csv --strict < animals.csv'],
  async action({ arguments: [file = ''], options, switches, flags, io }) {
    const format = options.format ?? formatOfFile(file);
    const isFile = file !== STANDARD_INPUT && (await isRegularFile(file));
    const { store } = await openStoreByFlags(flags, io.env, { create: switches.create });
    const report = new ImportReport(io.stderr, { isFile });
    const suspension = new Suspension();
    const work = { store, report, format, isStrict: switches.strict, suspension };
    try {
      if (isFile) return await importFile(file, work);
      const chunks = file === STANDARD_INPUT ? (io.stdin ?? process.stdin) : createReadStream(file);
      return await importSource(streamSource(chunks, work), work);
    } catch (error) {
      if (error instanceof HeaderError) throw new UsageError(error.message);
      if (!(error instanceof Refusal)) throw error;
      return report.failed(refusalLine(error));
    } finally {
      suspension.close();
      await store.close();
    }
  },
});

async function isRegularFile(file: string): Promise<boolean> {
  try {
    const found = await stat(file);
    if (!found.isDirectory()) return found.isFile();
  } catch {
    throw new UsageError(`"${file}" cannot be read: import needs a file, or - for standard input.`);
  }
  throw new UsageError(`"${file}" is a folder: import needs a file, or - for standard input.`);
}

/**
 * A file is read twice: first to hash its content (and, with --strict, to find the first bad line before
 * anything is stored), then from the position at which an earlier import of the same content stopped.
 */
async function importFile(file: string, work: Import): Promise<number> {
  const { store, report, format, isStrict } = work;
  const { digest, sizeBytes, readPet, fault } = await inspectFile(file, { format, isStrict });
  if (fault !== undefined) return report.stopped(fault, 0);
  const source = `${format}:${digest}`;
  const before = (await store.findImport(source)) ?? newProgress(source);
  if (before.position === sizeBytes && sizeBytes > 0) return report.importedBefore(before);
  if (before.position > 0) report.resumed(before);
  const reader = new PetReader(format, {
    rules: PET_RULES,
    linesBefore: before.lines,
    // From the start, the reader takes it from the header of the file.
    readPet: before.position === 0 ? undefined : readPet,
    isStrict,
  });
  const chunks = readChunks(file, before.position);
  return importSource({ chunks, reader, before, isResumable: true, sizeBytes }, work);
}

/** A stream can be read only once, so it cannot be hashed first: an import of it always starts anew. */
function streamSource(chunks: AsyncIterable<Uint8Array>, { format, isStrict }: Import): Source {
  const reader = new PetReader(format, { rules: PET_RULES, linesBefore: 0, isStrict });
  const before = newProgress('');
  return { chunks, reader, before, isResumable: false, sizeBytes: undefined };
}

function newProgress(source: string): ImportProgress {
  return { source, position: 0, lines: 0, imported: 0, skipped: 0 };
}

/** Stores each piece in one transaction, and reads the next piece meanwhile. */
async function importSource(source: Source, work: Import): Promise<number> {
  const { store, report, isStrict, suspension } = work;
  const { isResumable, sizeBytes } = source;
  let progress = source.before;
  let storing: Promise<boolean> = Promise.resolve(true);

  async function storePiece(piece: PetPiece): Promise<void> {
    const from = progress.position;
    progress = advance(progress, piece);
    report.progress(progress, sizeBytes);
    requireStored(await storing);
    const step = isResumable ? { from, to: progress } : undefined;
    storing = suspension.guard(store.importPets(piece.pets, step));
    // It is awaited one piece later; until then a failure must not count as unhandled.
    storing.catch(() => undefined);
  }

  for await (const piece of readPieces(source)) {
    report.faults(piece.faults);
    const [fault] = isStrict ? piece.faults : [];
    // The inspection of a file found no fault. The file has changed since, so its recorded progress would be wrong.
    if (fault === undefined || !isResumable) await storePiece(piece);
    if (fault !== undefined) {
      requireStored(await storing);
      return report.stopped(fault, progress.imported);
    }
  }
  requireStored(await storing);
  return report.finished(progress, source.before);
}

async function* readPieces({ chunks, reader }: Source): AsyncGenerator<PetPiece> {
  for await (const chunk of chunks) {
    const piece = reader.push(chunk);
    if (piece.byteCount > 0) yield piece;
  }
  const last = reader.end();
  if (last.byteCount > 0) yield last;
}

function advance(progress: ImportProgress, piece: PetPiece): ImportProgress {
  return {
    source: progress.source,
    position: progress.position + piece.byteCount,
    lines: progress.lines + piece.lines,
    imported: progress.imported + piece.pets.length,
    skipped: piece.faults.reduce((sum, fault) => sum + fault.lines, progress.skipped),
  };
}

function requireStored(isStored: boolean): void {
  if (isStored) return;
  throw new Refusal('unavailable', 'Another import of the same file is running.');
}

import { oneOf, UsageError } from '../setting.ts';
import { Refusal } from '../domain/errors.ts';
import type { CatalogueAdministration, ImportProgress } from '../domain/store.ts';
import { PetFileError, sourceOf, UnknownColumns } from '../pet-file/layout.ts';
import type { PetPiece } from '../pet-file/pet-reader.ts';
import { defineCommand } from './command.ts';
import { CREATE_SWITCH, openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { refusalLine } from './failure.ts';
import { COLUMNS_OPTION } from './import-columns.ts';
import {
  checkFile,
  FileChanged,
  openInput,
  readPieces,
  requireReadable,
  type CheckedFile,
} from './import-file.ts';
import { ImportReport } from './import-report.ts';

const FORMATS = ['csv', 'ndjson', 'json'] as const;
const ENCODINGS = ['utf-8', 'windows-1252'] as const;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

interface Import {
  store: CatalogueAdministration;
  report: ImportReport;
  isSkipping: boolean;
  signal: AbortSignal;
}

export const importPets = defineCommand({
  purpose: 'Add the animals of a file',
  arguments: [{ name: 'FILE', description: 'a file with animals, or - for standard input' }],
  options: {
    format: {
      ...oneOf(FORMATS),
      defaultText: 'the content tells',
      description: 'the format of the file',
    },
    columns: COLUMNS_OPTION,
    encoding: {
      ...oneOf(ENCODINGS),
      default: 'utf-8',
      description: 'the encoding of the file; UTF-16 is recognised',
    },
    ...STORE_OPTIONS,
  },
  switches: {
    'dry-run': 'check the file and import nothing',
    'skip-invalid': 'import the valid lines of a file with invalid ones',
    ...CREATE_SWITCH,
  },
  notes: `The file is a table whose first line names its columns (name, categoryId or category, and status
if you want; separated by commas, semicolons or tabs), one JSON object per line, or a JSON array
of at most 16 MiB. Other columns and fields, such as an id, are ignored. A table with other
headings, or without any, needs --columns; the refusal shows the columns with their numbers.

The whole file is checked first. If a line is invalid, nothing is imported, and the first 20
such lines are listed. With --skip-invalid the others are imported and all invalid lines are
listed; the exit code is 1. To continue an import that was stopped, run the same command again:
the content is recognized, and no animal is added twice.`,
  examples: [
    'import animals.csv --dry-run',
    'import animals.ndjson',
    'import - --skip-invalid < animals.csv',
    'import tiere.csv --columns 2,3 --encoding windows-1252',
  ],
  async action({ arguments: [name = ''], options, switches, flags, io }) {
    const isSkipping = switches['skip-invalid'];
    const { format, columns, encoding } = options;
    if (columns !== undefined && format !== undefined && format !== 'csv') {
      throw new UsageError(`--columns is for tables: leave it out, or --format ${format}.`);
    }
    await requireReadable(name);
    await using opened = new AsyncDisposableStack();
    const isDryRun = switches['dry-run'];
    const opening = openStoreByFlags(flags, io, { create: switches.create && !isDryRun });
    // A dry run uses the store only to find an earlier import of the file, and works without one.
    const found = await (isDryRun ? opening.catch(() => undefined) : opening);
    opened.defer(async () => found?.store.close());
    const store = found?.name ?? '';
    const report = new ImportReport(io.stderr, { store, isSkipping, clock: io.clock });
    const signal = opened.use(new StopSignal()).signal;
    try {
      const handle = await openInput(name, io.stdin ?? process.stdin, { encoding, signal });
      opened.defer(() => handle.close());
      const { faults: onFaults, checking: onProgress } = report;
      const file = await checkFile(handle, { format, columns, onFaults, onProgress, signal });
      report.checked(file);
      const none = newProgress(file);
      const before = (await found?.store.findImport(none.source)) ?? none;
      if (before.position === file.sizeBytes && file.sizeBytes > 0) {
        return report.importedBefore(before);
      }
      if (found !== undefined && !isDryRun) {
        const work = { store: found.store, report, isSkipping, signal };
        return await importFile(file, before, work);
      }
      return file.invalid > 0 && !isSkipping ? report.refused(file) : report.couldImport(file);
    } catch (error) {
      if (signal.aborted && isAbort(error)) return report.interrupted(undefined);
      if (error instanceof UnknownColumns) return report.unknownColumns(error);
      if (error instanceof PetFileError) return report.unreadable(error.message);
      if (error instanceof FileChanged) return report.changed(undefined);
      if (error instanceof Refusal) return report.failed(refusalLine(error));
      throw error;
    }
  },
});

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** A launcher repeats the signal of the terminal within this time. */
const REPEATED_MS = 1_000;

/**
 * Aborted by Ctrl-C and SIGTERM: the import ends after its transaction. Where the disk hangs, a later signal ends the
 * process.
 */
class StopSignal {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #stop = () => {
    this.#controller.abort();
    setTimeout(() => this[Symbol.dispose](), REPEATED_MS).unref();
  };

  constructor() {
    for (const name of STOP_SIGNALS) process.on(name, this.#stop);
  }

  [Symbol.dispose](): void {
    for (const name of STOP_SIGNALS) process.off(name, this.#stop);
  }
}

/** Imports a checked file from the position at which an earlier import of the same content stopped. */
async function importFile(
  file: CheckedFile,
  before: ImportProgress,
  work: Import,
): Promise<number> {
  const { report, isSkipping } = work;
  if (file.invalid > 0 && !isSkipping) {
    return before.position > 0 ? report.mustSkip(before) : report.refused(file);
  }
  if (before.position > 0) report.resumed(before);
  return importPieces(file, before, work);
}

function newProgress(file: CheckedFile): ImportProgress {
  const source = sourceOf(file.layout, file.digest);
  return { source, position: 0, lines: 0, imported: 0, skipped: 0 };
}

/** Stores each piece in one transaction, and reads the next piece meanwhile. */
async function importPieces(
  file: CheckedFile,
  before: ImportProgress,
  { store, report, signal }: Import,
): Promise<number> {
  let progress = before;
  let storing: Promise<boolean> = Promise.resolve(true);
  try {
    for await (const piece of readPieces(file, before)) {
      if (signal.aborted) break;
      requireStored(await storing);
      const from = progress.position;
      progress = advance(progress, piece);
      report.progress(progress, file.sizeBytes);
      storing = store.importPets(piece.pets, { from, to: progress });
      // It is awaited after the next piece. Until then, a rejection must not count as unhandled.
      storing.catch(() => undefined);
    }
    requireStored(await storing);
  } catch (error) {
    if (!(error instanceof FileChanged)) throw error;
    requireStored(await storing);
    return report.changed(progress);
  }
  const isDone = progress.position === file.sizeBytes || !signal.aborted;
  return isDone ? report.finished(progress, before) : report.interrupted(progress);
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

import { oneOf } from '../setting.ts';
import { Refusal } from '../domain/errors.ts';
import type { NewPet } from '../domain/pet.ts';
import type { CatalogueAdministration, ImportProgress } from '../domain/store.ts';
import { PetFileError, sourceOf, UnknownColumns } from '../pet-file/layout.ts';
import type { PetPiece } from '../pet-file/pet-reader.ts';
import { defineCommand } from './command.ts';
import { CREATE_SWITCH, openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { refusalLine } from './failure.ts';
import { columnsAdvice, COLUMNS_OPTION } from './import-columns.ts';
import { checkFile, openInput, readPieces, type CheckedFile } from './import-file.ts';
import { ImportReport } from './import-report.ts';

const ENCODINGS = ['utf-8', 'windows-1252'] as const;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export const importPets = defineCommand({
  purpose: 'Add the animals of a file',
  arguments: [{ name: 'FILE', description: 'a file with animals, or - for standard input' }],
  options: {
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
    const { columns, encoding } = options;
    await using opened = new AsyncDisposableStack();
    const isDryRun = switches['dry-run'];
    const opening = openStoreByFlags(flags, io, { create: switches.create && !isDryRun });
    // A dry run uses the store only to find an earlier import of the file, and works without one.
    const found = await (isDryRun ? opening.catch(() => undefined) : opening);
    opened.defer(async () => found?.store.close());
    const report = new ImportReport(io.stderr, { store: found?.name ?? '', isSkipping });
    const signal = opened.use(new StopSignal()).signal;
    try {
      const handle = await openInput(name, io.stdin ?? process.stdin, { encoding, signal });
      opened.defer(() => handle.close());
      const { faults: onFaults, checking: onProgress } = report;
      const file = await checkFile(handle, { columns, onFaults, onProgress, signal });
      report.checked(file);
      const source = sourceOf(file.layout, file.digest);
      const none = { source, position: 0, lines: 0, imported: 0, skipped: 0 };
      const before = (await found?.store.findImport(source)) ?? none;
      if (before.position === file.sizeBytes && file.sizeBytes > 0) {
        return report.importedBefore(before);
      }
      if (file.invalid > 0 && !isSkipping) {
        if (before.position === 0) return report.refused(file);
        // Correcting the file would import again what is in the store.
        report.resumed(before, ' without its invalid lines: add --skip-invalid to continue it.');
        return 1;
      }
      if (found === undefined || isDryRun) return report.couldImport(file);
      if (before.position > 0) report.resumed(before, '; this import continues there.');
      return await importPieces(file, before, { store: found.store, report, signal });
    } catch (error) {
      if (signal.aborted && isAbort(error)) return report.stopped('The import was interrupted.');
      if (error instanceof UnknownColumns) {
        return report.stopped(error.message, columnsAdvice(error.sample));
      }
      if (error instanceof PetFileError) return report.stopped(error.message);
      if (error instanceof Refusal) return report.stopped(refusalLine(error));
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

/** Stores each piece in one transaction, and reads the next piece meanwhile. */
async function importPieces(
  file: CheckedFile,
  before: ImportProgress,
  parts: { store: CatalogueAdministration; report: ImportReport; signal: AbortSignal },
): Promise<number> {
  const { store, report, signal } = parts;
  const storePiece = async (pets: NewPet[], from: number, to: ImportProgress): Promise<void> => {
    if (!(await store.importPets(pets, { from, to }))) {
      throw new Refusal('unavailable', 'Another import of the same file is running.');
    }
    report.stored = to;
  };
  let progress = before;
  let storing = Promise.resolve();
  try {
    for await (const piece of readPieces(file, before)) {
      await storing;
      signal.throwIfAborted();
      const from = progress.position;
      progress = advance(progress, piece);
      report.storing(progress, file.sizeBytes);
      storing = storePiece(piece.pets, from, progress);
      // It is awaited after the next piece. Until then, a rejection must not count as unhandled.
      storing.catch(() => undefined);
    }
  } finally {
    await storing;
  }
  return report.finished(progress, before);
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

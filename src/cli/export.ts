import { Writable } from 'node:stream';
import { oneOf, UsageError } from '../setting.ts';
import { defineCommand, type Io, type Output } from './command.ts';
import { pagesOf, TABLES, type CatalogueReader } from '../storage/tools/copy.ts';
import { petOfRow, type PetRow } from '../storage/rows.ts';
import { openReaderByFlags, STORE_OPTIONS } from './store-flags.ts';
import { EXPORT_FORMATS, headerOf, writePet, type WrittenFormat } from './pet-format.ts';
import { Progress } from './terminal.ts';

export const exportPets = defineCommand({
  purpose: 'Write all animals to standard output',
  options: {
    format: {
      ...oneOf(EXPORT_FORMATS),
      default: 'ndjson',
      description: 'the format of the output',
    },
    ...STORE_OPTIONS,
  },
  switches: {
    'for-spreadsheet': 'write CSV that a spreadsheet opens as UTF-8, and of which it runs nothing',
  },
  notes: `The animals are those of one moment, in the order of their ids. Until the export ends, its snapshot
keeps the log of SQLite from shrinking, and PostgreSQL from cleaning up changed rows.

CSV has every name as it is, for programs. A spreadsheet runs a name such as =1+1 as a formula:
--for-spreadsheet writes a tab in front of it, and a byte order mark at the start of the file.
The import and the console remove both.`,
  examples: [
    'export > animals.ndjson',
    'export --format csv > animals.csv',
    'export --for-spreadsheet > animals.csv',
  ],
  async action({ options, switches, flags, io }) {
    const isForSpreadsheet = switches['for-spreadsheet'];
    if (isForSpreadsheet && flags['format'] === 'ndjson') {
      throw new UsageError('--for-spreadsheet writes CSV: leave out --format ndjson.');
    }
    const format = isForSpreadsheet ? 'spreadsheet' : options.format;
    const { store, name } = await openReaderByFlags(flags, io.env);
    try {
      const count = await writePets(store, format, io);
      io.stderr.write(
        `Exported ${count.toLocaleString('en-US')} animal${count === 1 ? '' : 's'} from ${name}.\n`,
      );
      return 0;
    } finally {
      await store.close();
    }
  },
});

async function writePets(reader: CatalogueReader, format: WrittenFormat, io: Io): Promise<number> {
  const progress = new Progress(io.stderr);
  const output = new ExportOutput(io.stdout);
  await output.write(headerOf(format));
  let count = 0;
  for await (const rows of pagesOf(reader, TABLES.animals)) {
    const pets = rows.map((row) => petOfRow(row as unknown as PetRow));
    await output.write(pets.map((pet) => writePet(pet, format)).join(''));
    if (output.isClosed) break;
    count += pets.length;
    progress.show(count);
  }
  progress.clear();
  return count;
}

/** Waits for a slow reader, and notices when the reader is gone (`| head`). */
class ExportOutput {
  readonly #output: Output;
  #isClosed = false;

  constructor(output: Output) {
    this.#output = output;
    if (output instanceof Writable) {
      // runCommand reports the reason.
      output.on('error', () => {
        this.#isClosed = true;
      });
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async write(text: string): Promise<void> {
    if (text === '') return;
    const isReady = this.#output.write(text);
    const output = this.#output;
    if (isReady !== false || !(output instanceof Writable) || this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const proceed = () => {
        output.off('drain', proceed).off('close', proceed);
        resolve();
      };
      output.on('drain', proceed).on('close', proceed);
    });
  }
}

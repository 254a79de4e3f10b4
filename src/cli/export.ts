import { Writable } from 'node:stream';
import { oneOf } from '../setting.ts';
import { defineCommand, type Io, type Output } from './command.ts';
import { pagesOf, TABLES, type CatalogueReader } from '../storage/copy.ts';
import { petOfRow, type PetRow } from '../storage/rows.ts';
import { openReaderByFlags, STORE_OPTIONS } from './store-flags.ts';
import { EXPORT_FORMATS, headerOf, writePet, type ExportFormat } from './pet-format.ts';
import { Progress } from './terminal.ts';

export const exportPets = defineCommand({
  purpose: 'Write all animals to standard output',
  worksOn: 'store',
  options: {
    format: {
      ...oneOf(EXPORT_FORMATS),
      default: 'ndjson',
      description: 'the format of the output',
    },
    ...STORE_OPTIONS,
  },
  notes: `The animals are those of one moment, in the order of their ids. Until the export ends, its snapshot
keeps the log of SQLite from shrinking, and PostgreSQL from cleaning up changed rows.`,
  examples: ['export > animals.ndjson', 'export --format csv > animals.csv'],
  async action({ options, flags, io }) {
    const { store, name } = await openReaderByFlags(flags, io.env);
    try {
      const count = await writePets(store, options.format, io);
      io.stderr.write(
        `Exported ${count.toLocaleString('en-US')} animal${count === 1 ? '' : 's'} from ${name}.\n`,
      );
      return 0;
    } finally {
      await store.close();
    }
  },
});

async function writePets(reader: CatalogueReader, format: ExportFormat, io: Io): Promise<number> {
  const progress = new Progress(io.stderr);
  const output = new ExportOutput(io.stdout);
  await output.write(headerOf(format));
  let count = 0;
  for await (const rows of pagesOf(reader, TABLES.animals)) {
    const pets = rows.map((row) => petOfRow(row as unknown as PetRow));
    await output.write(pets.map((pet) => writePet(pet, format)).join(''));
    if (output.isClosed) break;
    count += pets.length;
    progress.showBar({ count, share: undefined });
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

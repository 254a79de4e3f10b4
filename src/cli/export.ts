import { Writable } from 'node:stream';
import { oneOf } from '../setting.ts';
import { defineCommand, type Io, type Output } from './command.ts';
import type { CatalogueAdministration } from '../domain/store.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import type { PetFormat } from '../pet-file/read-pet.ts';
import { headerOf, PET_FORMATS, writePet } from './pet-format.ts';
import { Progress } from './terminal.ts';

const PAGE_ANIMALS = 1_000;

export const exportPets = defineCommand({
  purpose: 'Write all animals to standard output',
  options: {
    format: { ...oneOf(PET_FORMATS), default: 'ndjson', description: 'the format of the output' },
    ...STORE_OPTIONS,
  },
  examples: ['export > animals.ndjson', 'export --format csv > animals.csv'],
  async action({ options, flags, io }) {
    const { store } = await openStoreByFlags(flags, io.env, { mustExist: true });
    try {
      await writePets(store, options.format, io);
      return 0;
    } finally {
      await store.close();
    }
  },
});

/**
 * Writes every animal to standard output, in the order of ids. Ids follow the order of commits, so no animal
 * below the last id that was read is missing. One that `petstore catalogue` changes or removes during the
 * export is written as it was before or as it is after.
 */
async function writePets(store: CatalogueAdministration, format: PetFormat, io: Io): Promise<void> {
  const progress = new Progress(io.stderr);
  const output = new ExportOutput(io.stdout);
  await output.write(headerOf(format));
  let afterId = 0n;
  let count = 0;
  while (!output.isClosed) {
    const pets = await store.listPets({ status: undefined, afterId, count: PAGE_ANIMALS });
    await output.write(pets.map((pet) => writePet(pet, format)).join(''));
    afterId = pets.at(-1)?.id ?? afterId;
    count += pets.length;
    progress.showBar({ count, share: undefined });
    if (pets.length < PAGE_ANIMALS) break;
  }
  progress.clear();
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
      output.once('drain', resolve);
      output.once('close', resolve);
    });
  }
}

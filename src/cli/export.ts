import { Writable } from 'node:stream';
import { parseArguments } from '../config.ts';
import type { Io, Output } from './command.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { choosePetFormat, headerOf, writePet } from './pet-format.ts';
import { Progress } from './terminal.ts';

const OPTIONS = {
  ...STORE_OPTIONS,
  format: { type: 'string' },
} as const;

const PAGE_ANIMALS = 1_000;

/**
 * Writes every animal to standard output, in the order of ids. Ids follow the order of commits, so no animal
 * below the last id that was read is missing. One that `petstore catalogue` changes or removes during the
 * export is written as it was before or as it is after.
 */
export async function exportPets(args: string[], io: Io): Promise<number> {
  const { format: requested, ...flags } = parseArguments({ args, options: OPTIONS }).values;
  const format = choosePetFormat(requested, undefined);
  const { store } = await openStoreByFlags(flags, io.env, { mustExist: true });
  const progress = new Progress(io.stderr);
  const output = new ExportOutput(io.stdout);
  try {
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
    return 0;
  } finally {
    await store.close();
  }
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

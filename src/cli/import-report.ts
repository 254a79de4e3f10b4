import type { ImportProgress } from '../domain/store.ts';
import { layoutWords, type Layout } from '../pet-file/layout.ts';
import { unitOf, type LineFault } from '../pet-file/pet-reader.ts';
import { printable } from '../domain/printable.ts';
import type { Output } from './command.ts';
import type { CheckedFile } from './import-file.ts';
import { Progress } from './terminal.ts';

/** The number of invalid lines that are listed if nothing is imported; the others are only counted. */
const FAULTS_SHOWN_MAX = 20;

/** Reports the progress of an import. The methods that end it return the exit code. */
export class ImportReport {
  readonly #output: Output;
  /** The name of the store, without a password. */
  readonly #store: string;
  readonly #isSkipping: boolean;
  #progress: Progress;
  #unit = 'line';
  #faultCount = 0;
  /** How far the file is in the store. */
  stored: ImportProgress | undefined;

  constructor(output: Output, { store, isSkipping }: { store: string; isSkipping: boolean }) {
    this.#output = output;
    this.#store = store;
    this.#isSkipping = isSkipping;
    this.#progress = new Progress(output, 'animals checked');
  }

  readonly checking = (count: number, share: number): void => {
    this.#progress.show(count, share);
  };

  /** Lists invalid lines: all of them if they are skipped, because only these may be imported again. */
  readonly faults = (faults: readonly LineFault[], layout: Layout): void => {
    this.#unit = unitOf(layout);
    for (const { line, lines, reason } of faults) {
      this.#faultCount += 1;
      if (!this.#isSkipping && this.#faultCount > FAULTS_SHOWN_MAX) continue;
      const where =
        lines === 1 ? `${this.#unit} ${line}` : `${this.#unit}s ${line} to ${line + lines - 1}`;
      this.#print(`${where}: ${reason}`);
    }
  };

  checked({ layout }: CheckedFile): void {
    this.#unit = unitOf(layout);
    const rest = this.#isSkipping ? 0 : this.#faultCount - FAULTS_SHOWN_MAX;
    if (rest > 0) this.#print(`and ${countText(rest)} more`);
    this.#progress.clear();
    this.#progress = new Progress(this.#output);
  }

  storing({ imported, position }: ImportProgress, sizeBytes: number): void {
    this.#progress.show(imported, position / sizeBytes);
  }

  /** Says that an earlier import of the same file was stopped, and what follows from it. */
  resumed(before: ImportProgress, next: string): void {
    const { lines, imported } = before;
    this.stored = before;
    this.#print(
      `An earlier import of this file stopped after ${this.#unit} ${countText(lines)}, with ${animalsText(imported)} imported${next}`,
    );
  }

  refused({ invalid }: CheckedFile): number {
    const verb = invalid === 1 ? 'is' : 'are';
    this.#print(
      `Nothing was imported: ${this.#units(invalid)} ${verb} invalid. Correct the file and run the same command again, or import the others with --skip-invalid.`,
    );
    return 1;
  }

  couldImport({ animals, invalid, layout }: CheckedFile): number {
    this.#print(layoutWords(layout));
    this.#print(
      `${animalsText(animals)} can be imported, ${this.#units(invalid)} would be skipped. Nothing was imported.`,
    );
    return invalid === 0 ? 0 : 1;
  }

  importedBefore({ imported, skipped }: ImportProgress): number {
    this.#print(
      `This file was imported before: ${animalsText(imported)} added, ${this.#units(skipped)} skipped. Nothing was added now.`,
    );
    return skipped === 0 ? 0 : 1;
  }

  finished(after: ImportProgress, before: ImportProgress): number {
    this.#print(`Imported ${animalsText(after.imported - before.imported)} into ${this.#store}.`);
    if (after.skipped === 0) return 0;
    this.#print(
      `${this.#units(after.skipped)} ${after.skipped === 1 ? 'was' : 'were'} skipped as invalid. Only the ${this.#unit}s listed above may be imported again, in a file of their own: the others are in the store.`,
    );
    return 1;
  }

  /** Ends before the whole file was imported; `advice` is lines of its own. */
  stopped(reason: string, advice: readonly string[] = []): number {
    const { lines = 0, imported = 0 } = this.stored ?? {};
    const rest =
      lines === 0
        ? 'Nothing was imported.'
        : `The import stopped after ${this.#unit} ${countText(lines)}, with ${animalsText(imported)} imported into ${this.#store}: the same command with the same file continues there.`;
    for (const line of [`${reason} ${rest}`, ...advice]) this.#print(line);
    return 1;
  }

  #units(count: number): string {
    return `${countText(count)} ${this.#unit}${count === 1 ? '' : 's'}`;
  }

  #print(message: string): void {
    this.#progress.clear();
    this.#output.write(`${printable(message)}\n`);
  }
}

function countText(count: number): string {
  return count.toLocaleString('en-US');
}

function animalsText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'animal' : 'animals'}`;
}

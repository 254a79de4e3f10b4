import type { Clock } from '../domain/clock.ts';
import type { ImportProgress } from '../domain/store.ts';
import { layoutWords, type Layout, type UnknownColumns } from '../pet-file/layout.ts';
import { unitOf, type LineFault } from '../pet-file/pet-reader.ts';
import { printable } from '../domain/printable.ts';
import type { Output } from './command.ts';
import { columnsAdvice } from './import-columns.ts';
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
  readonly #clock: Clock;
  readonly #startedMs: number;
  #progress: Progress;
  #unit = 'line';
  #faultCount = 0;

  constructor(output: Output, options: { store: string; isSkipping: boolean; clock: Clock }) {
    this.#output = output;
    this.#clock = options.clock;
    this.#startedMs = options.clock.elapsedMs();
    this.#store = options.store;
    this.#isSkipping = options.isSkipping;
    this.#progress = new Progress(output, 'animals checked');
  }

  readonly checking = (count: number, share: number): void => {
    this.#progress.show(count, share);
  };

  /** Lists invalid lines: all of them if they are skipped, because only these may be imported again. */
  readonly faults = (faults: readonly LineFault[], layout: Layout): void => {
    this.#unit = unitOf(layout);
    for (const fault of faults) {
      this.#faultCount += 1;
      if (this.#isSkipping || this.#faultCount <= FAULTS_SHOWN_MAX) {
        this.#print(faultText(fault, this.#unit));
      }
    }
  };

  checked({ layout }: CheckedFile): void {
    this.#unit = unitOf(layout);
    const rest = this.#isSkipping ? 0 : this.#faultCount - FAULTS_SHOWN_MAX;
    if (rest > 0) this.#print(`and ${countText(rest)} more`);
    this.#progress.clear();
    this.#progress = new Progress(this.#output);
  }

  /** Ends with nothing imported, because lines are invalid. */
  refused({ invalid }: CheckedFile): number {
    const verb = invalid === 1 ? 'is' : 'are';
    this.#print(
      `Nothing was imported: ${this.#units(invalid)} ${verb} invalid. Correct the file and run the same command again, or import the others with --skip-invalid.`,
    );
    return 1;
  }

  /** Ends with nothing imported, because the file as a whole cannot be read. */
  unreadable(reason: string): number {
    this.#print(`${reason} Nothing was imported.`);
    return 1;
  }

  /** Ends with nothing imported, and says how the columns can be named. */
  unknownColumns({ message, sample }: UnknownColumns): number {
    this.unreadable(message);
    for (const line of columnsAdvice(sample)) this.#print(line);
    return 1;
  }

  couldImport({ animals, invalid, layout }: CheckedFile): number {
    this.#print(layoutWords(layout));
    this.#print(
      `${animalsText(animals)} can be imported, ${this.#units(invalid)} would be skipped. Nothing was imported.`,
    );
    return invalid === 0 ? 0 : 1;
  }

  /** Ends because an earlier import of a file with invalid lines, which skipped them, was stopped. */
  mustSkip({ lines, imported }: ImportProgress): number {
    this.#print(
      `An earlier import of this file stopped after ${this.#unit} ${countText(lines)}, with ${animalsText(imported)} imported: add --skip-invalid to continue it. A corrected copy of the whole file would add them again.`,
    );
    return 1;
  }

  resumed({ lines, imported }: ImportProgress): void {
    this.#print(
      `An earlier import of this file stopped after ${this.#unit} ${countText(lines)}, with ${animalsText(imported)} imported; this import continues there.`,
    );
  }

  progress({ imported, position }: ImportProgress, sizeBytes: number): void {
    this.#progress.show(imported, position / sizeBytes);
  }

  importedBefore({ imported, skipped }: ImportProgress): number {
    this.#print(
      `This file was imported before: ${animalsText(imported)} added, ${this.#units(skipped)} skipped. Nothing was added now.`,
    );
    return skipped === 0 ? 0 : 1;
  }

  finished(after: ImportProgress, before: ImportProgress): number {
    const added = after.imported - before.imported;
    const seconds = (this.#clock.elapsedMs() - this.#startedMs) / 1000;
    const rate = countText(Math.round(added / seconds));
    this.#print(
      `Imported ${animalsText(added)} into ${this.#store}. That took ${seconds.toFixed(1)} s, ${rate} per second.`,
    );
    if (after.skipped === 0) return 0;
    this.#print(
      `${this.#units(after.skipped)} ${after.skipped === 1 ? 'was' : 'were'} skipped as invalid. Only the ${this.#unit}s listed above may be imported again, in a file of their own: the others are in the store.`,
    );
    return 1;
  }

  /** Ends because the user stopped it. `progress` is undefined if nothing was stored yet. */
  interrupted(progress: ImportProgress | undefined): number {
    this.#print(
      progress === undefined || progress.position === 0
        ? 'The import was stopped while the file was being checked; nothing was imported.'
        : `The import was stopped after ${this.#unit} ${countText(progress.lines)}, with ${animalsText(progress.imported)} imported into ${this.#store}. Run the same command again to continue.`,
    );
    return 1;
  }

  /** Ends because the file is no longer the one that was checked. */
  changed(progress: ImportProgress | undefined): number {
    const imported = progress?.imported ?? 0;
    const added =
      imported === 0
        ? 'nothing was imported'
        : `its first ${this.#units(progress?.lines ?? 0)}, ${animalsText(imported)}, were imported into ${this.#store}`;
    this.#print(`The file has changed while it was read, so the import stopped; ${added}.`);
    return 1;
  }

  failed(reason: string): number {
    this.#print(`The import stopped. ${reason} Run the same command again to continue.`);
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

function faultText({ line, lines, reason }: LineFault, unit: string): string {
  return `${lines === 1 ? `${unit} ${line}` : `${unit}s ${line} to ${line + lines - 1}`}: ${reason}`;
}

function countText(count: number): string {
  return count.toLocaleString('en-US');
}

function animalsText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'animal' : 'animals'}`;
}

import type { ImportProgress } from '../domain/store.ts';
import type { Output } from './command.ts';
import type { LineFault } from '../pet-file/pet-reader.ts';
import { Progress } from './terminal.ts';

/** The number of bad lines that are reported; the others are only counted. */
const FAULTS_SHOWN_MAX = 1_000;

/** Reports the progress of an import. The methods that end it return the exit code. */
export class ImportReport {
  readonly #output: Output;
  readonly #progress: Progress;
  readonly #isFile: boolean;
  readonly #startedMs = performance.now();
  #faultCount = 0;

  constructor(output: Output, { isFile }: { isFile: boolean }) {
    this.#output = output;
    this.#isFile = isFile;
    this.#progress = new Progress(output);
  }

  progress({ imported, position }: ImportProgress, sizeBytes: number | undefined): void {
    const share = sizeBytes === undefined ? undefined : position / sizeBytes;
    this.#progress.showBar({ count: imported, share });
  }

  faults(faults: readonly LineFault[]): void {
    for (const fault of faults) {
      this.#faultCount += 1;
      if (this.#faultCount <= FAULTS_SHOWN_MAX) this.#print(faultText(fault));
      if (this.#faultCount === FAULTS_SHOWN_MAX) this.#print('Further bad lines are only counted.');
    }
  }

  resumed({ lines, imported }: ImportProgress): void {
    this.#print(
      `An earlier import of this file stopped after line ${countText(lines)}, with ${animalsText(imported)} imported; this import continues there.`,
    );
  }

  importedBefore({ imported, skipped }: ImportProgress): number {
    this.#print(
      `This file was imported before: ${animalsText(imported)} added, ${linesText(skipped)} skipped. Nothing was added now.`,
    );
    return skipped === 0 ? 0 : 1;
  }

  finished(after: ImportProgress, before: ImportProgress): number {
    const added = after.imported - before.imported;
    const seconds = (performance.now() - this.#startedMs) / 1000;
    this.#print(
      `Imported ${animalsText(added)} in ${seconds.toFixed(1)} s, ${countText(Math.round(added / seconds))} per second; ${linesText(after.skipped)} skipped.`,
    );
    return after.skipped === 0 ? 0 : 1;
  }

  /** Ends the import at the first bad line, with --strict. */
  stopped(fault: LineFault, imported: number): number {
    if (this.#faultCount === 0) this.#print(faultText(fault));
    this.#print(
      `The import stopped there; ${animalsText(imported)} before it ${imported === 1 ? 'was' : 'were'} added.`,
    );
    return 1;
  }

  failed(reason: string): number {
    const remedy = this.#isFile
      ? 'Run the same command again to continue.'
      : 'Part of the input may have been added.';
    this.#print(`The import stopped. ${reason} ${remedy}`);
    return 1;
  }

  #print(message: string): void {
    this.#progress.clear();
    this.#output.write(`${message}\n`);
  }
}

function faultText({ line, lines, reason }: LineFault): string {
  return `${lines === 1 ? `line ${line}` : `lines ${line} to ${line + lines - 1}`}: ${reason}`;
}

function countText(count: number): string {
  return count.toLocaleString('en-US');
}

function animalsText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'animal' : 'animals'}`;
}

function linesText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'line' : 'lines'}`;
}

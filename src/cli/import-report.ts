import type { ImportProgress } from '../domain/store.ts';
import type { Output } from './command.ts';
import type { LineFault } from './pet-reader.ts';
import { Progress } from './terminal.ts';

/** Bad lines that are shown one by one; the rest is only counted. */
const FAULTS_SHOWN_MAX = 1_000;

/** Tells a person how an import goes. What ends it answers the exit code. */
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
      if (this.#faultCount <= FAULTS_SHOWN_MAX) this.#say(faultText(fault));
      if (this.#faultCount === FAULTS_SHOWN_MAX) this.#say('Further bad lines are only counted.');
    }
  }

  resumed({ lines, imported }: ImportProgress): void {
    this.#say(
      `An import of this file stopped after line ${countText(lines)} with ${animalsText(imported)} in; it goes on from there.`,
    );
  }

  importedBefore({ imported, skipped }: ImportProgress): number {
    this.#say(
      `This file was imported before: ${animalsText(imported)} in, ${linesText(skipped)} skipped. Nothing was added.`,
    );
    return skipped === 0 ? 0 : 1;
  }

  finished(after: ImportProgress, before: ImportProgress): number {
    const added = after.imported - before.imported;
    const seconds = (performance.now() - this.#startedMs) / 1000;
    this.#say(
      `Imported ${animalsText(added)} in ${seconds.toFixed(1)} s, ${countText(Math.round(added / seconds))} a second; ${linesText(after.skipped)} skipped.`,
    );
    return after.skipped === 0 ? 0 : 1;
  }

  /** With --strict: at the first bad line. */
  stopped(fault: LineFault, imported: number): number {
    if (this.#faultCount === 0) this.#say(faultText(fault));
    this.#say(
      `Stopped there; ${animalsText(imported)} of the lines before it ${imported === 1 ? 'is' : 'are'} in.`,
    );
    return 1;
  }

  failed(reason: string): number {
    const remedy = this.#isFile
      ? 'Run the same command again: it goes on where this one stopped.'
      : 'Part of the input may be in.';
    this.#say(`The import stopped. ${reason} ${remedy}`);
    return 1;
  }

  #say(words: string): void {
    this.#progress.clear();
    this.#output.write(`${words}\n`);
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

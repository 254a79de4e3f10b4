import type { Output } from '../src/cli/command.ts';

/** One line that says where we are; where nobody watches, a line for each new place. */
export class Progress {
  readonly #output: Output;
  readonly #startedMs = performance.now();

  constructor(output: Output) {
    this.#output = output;
  }

  show(text: string): void {
    const seconds = Math.round((performance.now() - this.#startedMs) / 1000);
    const line = `${String(seconds).padStart(4)} s  ${text}`;
    this.#output.write(this.#output.isTTY === true ? `\r\u001b[K${line}` : `${line}\n`);
  }

  clear(): void {
    if (this.#output.isTTY === true) this.#output.write('\r\u001b[K');
  }
}

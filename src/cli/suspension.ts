/**
 * Suspends the process (Ctrl-Z) only between transactions. A process that is suspended inside a transaction
 * holds the write lock of the store, and no other can write until it continues. SIGSTOP cannot be delayed.
 */
export class Suspension {
  #isGuarding = false;
  #isRequested = false;
  readonly #onSignal = () => {
    this.#isRequested = true;
    if (!this.#isGuarding) this.#suspend();
  };

  constructor() {
    process.on('SIGTSTP', this.#onSignal);
  }

  /** Delays a suspension until this work has ended. */
  async guard<Result>(work: Promise<Result>): Promise<Result> {
    this.#isGuarding = true;
    try {
      return await work;
    } finally {
      this.#isGuarding = false;
      if (this.#isRequested) this.#suspend();
    }
  }

  [Symbol.dispose](): void {
    process.off('SIGTSTP', this.#onSignal);
  }

  #suspend(): void {
    this.#isRequested = false;
    process.kill(process.pid, 'SIGSTOP');
  }
}

/**
 * Suspends the process (Ctrl-Z) only between transactions. One that is suspended in its middle holds the
 * store's write lock, and nobody else can write until the process goes on. SIGSTOP cannot be held back.
 */
export class Suspension {
  #isGuarding = false;
  #isAsked = false;
  readonly #onSignal = () => {
    this.#isAsked = true;
    if (!this.#isGuarding) this.#suspend();
  };

  constructor() {
    process.on('SIGTSTP', this.#onSignal);
  }

  /** Holds a suspension back until this work has ended. */
  async guard<Result>(work: Promise<Result>): Promise<Result> {
    this.#isGuarding = true;
    try {
      return await work;
    } finally {
      this.#isGuarding = false;
      if (this.#isAsked) this.#suspend();
    }
  }

  close(): void {
    process.off('SIGTSTP', this.#onSignal);
  }

  #suspend(): void {
    this.#isAsked = false;
    process.kill(process.pid, 'SIGSTOP');
  }
}

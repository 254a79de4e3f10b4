import { parseTypedInt64 } from '../../../domain/int64.ts';
import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { explain } from './fault.ts';
import { fold } from './fields.ts';
import type { Session } from './session.ts';

const PAGE_SIZE = 100;
/** More rows are no help to a person, and would fill the memory of the browser. The others are counted. */
export const ROWS_MAX = 200;

export interface SearchEvents {
  /** These are to be shown. */
  found: (pets: Pet[]) => void;
  looked: () => void;
  /** It waits, so that half of the requests of the key are left for other work. */
  waiting: (seconds: number) => void;
}

/** Walks the catalogue from the newest animal, and finds those whose name has the text, and the one with the id. */
export class Search {
  readonly #session: Session;
  readonly text: string;
  readonly #id: bigint | undefined;
  readonly #status: PetStatus | undefined;
  #cursor: string | undefined;
  looked = 0;
  found = 0;
  /** Whether all animals were looked at. */
  isComplete = false;

  constructor(session: Session, { text, status }: { text: string; status: PetStatus | undefined }) {
    this.#session = session;
    this.text = fold(text);
    // People write #7 for the animal with the id 7.
    this.#id = parseTypedInt64(text.trim().replace(/^#/, ''));
    this.#status = status;
  }

  /** Runs until all is found or the signal aborts. After either, it can run again, and goes on from there. */
  async run(signal: AbortSignal, on: SearchEvents): Promise<void> {
    const list = this.#session.pets.list({ status: this.#status, limit: PAGE_SIZE, signal });
    const newestFirst = list.toReversed();
    if (this.looked === 0) await this.#findId(signal, on);
    while (!this.isComplete) {
      await this.#leaveHalf(signal, on);
      signal.throwIfAborted();
      const { pets, nextCursor } = await newestFirst.page(this.#cursor);
      this.#report(
        pets.filter(({ id, name }) => id !== this.#id && fold(name).includes(this.text)),
        on,
      );
      this.looked += pets.length;
      this.#cursor = nextCursor;
      this.isComplete = nextCursor === undefined;
      on.looked();
    }
  }

  /** At once, while the service has this operation. */
  async #findId(signal: AbortSignal, on: SearchEvents): Promise<void> {
    if (this.#id === undefined || this.found > 0) return;
    try {
      this.#report([await this.#session.pets.get(this.#id, { signal })], on);
    } catch (error) {
      const { status } = explain(error);
      if (status !== 404 && status !== 410) throw error;
    }
  }

  #report(matches: Pet[], on: SearchEvents): void {
    const shown = matches.slice(0, Math.max(0, ROWS_MAX - this.found));
    this.found += matches.length;
    if (shown.length > 0) on.found(shown);
  }

  async #leaveHalf(signal: AbortSignal, on: SearchEvents): Promise<void> {
    const seconds = this.#session.secondsToHalf;
    if (seconds === 0) return;
    on.waiting(seconds);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => resolve());
    await promise;
    clearTimeout(timer);
  }
}

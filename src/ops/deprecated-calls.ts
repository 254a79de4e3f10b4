import type { Clock } from '../domain/clock.ts';
import type { Store } from '../domain/store.ts';

/** How often new calls are stored. A process that is killed loses those of this time. */
const RECORD_INTERVAL_MS = 5_000;

/**
 * Stores how often each key calls deprecated operations. No request waits for it. If the store fails, the
 * calls are stored later; one whose outcome is unknown may then be counted twice.
 */
export class DeprecatedCallsRecorder {
  readonly #counts: ReadonlyMap<string, number>;
  readonly #store: Pick<Store, 'recordDeprecatedCalls'>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  /** How many of the counted calls are stored, by the id of the key. */
  readonly #stored = new Map<string, number>();
  #recording: Promise<void> = Promise.resolve();

  /** `counts` has the calls since the start of the process, by the id of the key. */
  constructor(
    counts: ReadonlyMap<string, number>,
    store: Pick<Store, 'recordDeprecatedCalls'>,
    clock: Clock,
  ) {
    this.#counts = counts;
    this.#store = store;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.#record(), RECORD_INTERVAL_MS).unref();
  }

  /** Stores the last calls, so the store must still be open. */
  close(): Promise<void> {
    clearInterval(this.#timer);
    return this.#record();
  }

  /** One write at a time: each stores what the one before has not. */
  #record(): Promise<void> {
    this.#recording = this.#recording.then(() => this.#recordNew()).catch(() => undefined);
    return this.#recording;
  }

  async #recordNew(): Promise<void> {
    const counted = new Map(this.#counts);
    const added = [...counted].map(
      ([keyId, calls]) => [keyId, calls - (this.#stored.get(keyId) ?? 0)] as const,
    );
    const calls = new Map(added.filter(([, count]) => count > 0));
    if (calls.size === 0) return;
    await this.#store.recordDeprecatedCalls(calls, this.#clock.now());
    for (const [keyId, count] of counted) this.#stored.set(keyId, count);
  }
}

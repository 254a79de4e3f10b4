import type { Clock } from '../domain/clock.ts';
import type { KeyStore, KeyUse } from '../domain/store.ts';

/** The interval of writes. A process that is killed loses the uses since the last one. */
const RECORD_INTERVAL_MS = 30_000;

/** Records when each key was last used. No request waits for it. A write that fails is repeated later. */
export class KeyUses {
  readonly #store: Pick<KeyStore, 'recordKeyUse'>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  /** The first use of each key that is not stored: reading the clock for every request would cost time. */
  readonly #unrecorded = new Map<string, KeyUse>();

  constructor(store: Pick<KeyStore, 'recordKeyUse'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.#record(), RECORD_INTERVAL_MS).unref();
  }

  /** Records the last uses, so the store must still be open. */
  close(): Promise<void> {
    clearInterval(this.#timer);
    return this.#record();
  }

  note(keyId: string): void {
    if (this.#unrecorded.has(keyId)) return;
    this.#unrecorded.set(keyId, { usedAt: this.#clock.now(), deprecatedCallAt: undefined });
  }

  noteDeprecatedCall(keyId: string): void {
    if (this.#unrecorded.get(keyId)?.deprecatedCallAt !== undefined) return;
    const now = this.#clock.now();
    this.#unrecorded.set(keyId, { usedAt: now, deprecatedCallAt: now });
  }

  async #record(): Promise<void> {
    const uses = new Map(this.#unrecorded);
    if (uses.size === 0) return;
    try {
      await this.#store.recordKeyUse(uses);
    } catch {
      return;
    }
    for (const [keyId, use] of uses) {
      if (this.#unrecorded.get(keyId) === use) this.#unrecorded.delete(keyId);
    }
  }
}

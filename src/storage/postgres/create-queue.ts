import type { IdempotencyClaim } from '../../domain/idempotency.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Creation } from '../../domain/store.ts';
import { gather, gatherMs } from '../gather.ts';
import { createBatch, type WaitingCreate } from './create-batch.ts';
import { deadlineIn, timeLeftMs } from './connection.ts';
import { faultOf, isRepeatable, overloaded, unavailable, type Fault } from './errors.ts';
import type { Pool } from './pool.ts';

/** What may wait to be stored at once. Beyond it a caller hears `overloaded` immediately. */
const WAITING_MAX = 10_000;
/** A batch is one round trip and one commit: long enough to share them, short enough to answer soon. */
const BATCH_MAX = 500;
const ATTEMPTS_MAX = 5;
/** A create that has less of its time left than this is refused rather than sent. */
const TIME_TO_SEND_MIN_MS = 1_000;

/**
 * Gathers the creates of this process into batches, one in flight at a time: what arrives while one is
 * on its way goes into the next. More in flight would not help, because all creates of all processes
 * pass through the counter one after the other.
 */
export class CreateQueue {
  readonly #pool: Pool;
  readonly #callTimeoutMs: number;
  readonly #waiting: WaitingCreate[] = [];
  #sending: Promise<void> | undefined;
  #gatherMs = 0;

  constructor(pool: Pool, callTimeoutMs: number) {
    this.#pool = pool;
    this.#callTimeoutMs = callTimeoutMs;
  }

  add(pet: NewPet, claim: IdempotencyClaim | undefined): Promise<Creation> {
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(overloaded('creates'));
    return new Promise((resolve, reject) => {
      const deadline = deadlineIn(this.#callTimeoutMs);
      this.#waiting.push({ pet, claim, deadline, resolve, reject });
      this.#sending ??= this.#send();
    });
  }

  /** Resolves when everything that was accepted is settled. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        gather(this.#gatherMs, resolve);
      });
      const batch = this.#waiting.splice(0, BATCH_MAX);
      const sentAtMs = performance.now();
      await this.#settle(batch);
      const tookMs = performance.now() - sentAtMs;
      this.#gatherMs = gatherMs({ writes: batch.length, tookMs });
    }
    this.#sending = undefined;
  }

  /** Settles every create of the batch, one way or the other; never throws. */
  async #settle(batch: WaitingCreate[]): Promise<void> {
    let open = batch;
    let cause: unknown = new Error('it waited too long');
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      open = refuseLate(open, cause);
      const deadline = Math.min(...open.map((create) => create.deadline));
      if (open.length === 0) return;
      try {
        open = await createBatch(this.#pool, open, deadline);
        if (open.length === 0) return;
      } catch (error) {
        cause = error;
        const fault = faultOf(error);
        if (fault === 'faulty' && open.length > 1) {
          // Nothing of the batch was kept. In halves, a faulty create ends up without its neighbours.
          const half = Math.ceil(open.length / 2);
          await this.#settle(open.slice(0, half));
          await this.#settle(open.slice(half));
          return;
        }
        open = refuseUnlessRepeatable(open, fault, error);
      }
    }
    for (const { reject } of open) reject(unavailable(cause));
  }
}

function refuseLate(batch: WaitingCreate[], cause: unknown): WaitingCreate[] {
  return keep(batch, cause, ({ deadline }) => timeLeftMs(deadline) > TIME_TO_SEND_MIN_MS);
}

/**
 * A create whose outcome is unknown is only sent again under a claim, which makes the second one
 * harmless; without a claim it might store the animal twice.
 */
function refuseUnlessRepeatable(
  batch: WaitingCreate[],
  fault: Fault,
  cause: unknown,
): WaitingCreate[] {
  if (isRepeatable(fault)) return batch;
  return keep(batch, cause, ({ claim }) => fault === 'unknown' && claim !== undefined);
}

function keep(
  batch: WaitingCreate[],
  cause: unknown,
  isKept: (create: WaitingCreate) => boolean,
): WaitingCreate[] {
  return batch.filter((create) => {
    const kept = isKept(create);
    if (!kept) create.reject(unavailable(cause));
    return kept;
  });
}

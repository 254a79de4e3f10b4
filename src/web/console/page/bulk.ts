import type { NewPet, Pet, Pets } from '../../../../sdk/src/index.ts';
import { explain, type Fault } from './fault.ts';

const WAIT_MS_FIRST = 2_000;
const WAIT_MS_MAX = 30_000;
/** So many failures in a row, about eight minutes, are waited out. Then the user decides. */
const FAILURES_MAX = 20;

/** Of these, the same animal may be accepted later. Every other 4xx is a refusal of the animal itself. */
const STATUSES_NOT_ABOUT_THE_ANIMAL = [401, 403, 408, 429];

/** One animal of the list, and what became of it. */
export interface Row {
  line: number;
  pet: NewPet;
  /** Kept for every attempt, so that the service stores the animal once. */
  idempotencyKey: string;
  id?: bigint;
  /** Why the service did not accept the animal. */
  refusal?: string;
}

export type Phase =
  | { name: 'running' }
  | { name: 'done' }
  /** It has not started, or was paused by the user or by a fault that waiting does not mend. */
  | { name: 'paused'; fault: Fault | undefined }
  /** The next attempt follows by itself. */
  | { name: 'waiting'; fault: Fault; waitMs: number };

const PAUSED: Phase = { name: 'paused', fault: undefined };

/**
 * Adds the animals one after the other, so that their ids have the order of the list. After a fault it sends
 * the same animal again with the same Idempotency-Key: the service stores it once, even if only the response
 * was lost.
 */
export class BulkAdd {
  readonly #rows: readonly Row[];
  readonly #create: Pets['create'];
  readonly #on: { phase: (phase: Phase) => void; added: (pet: Pet, done: number) => void };
  #next = 0;
  #phase: Phase = PAUSED;
  #isPauseWanted = false;
  /** The phase that a wanted pause leads to. */
  #ending: Phase = PAUSED;
  #endWait: () => void = () => undefined;

  constructor(
    rows: readonly Row[],
    create: Pets['create'],
    on: { phase: (phase: Phase) => void; added: (pet: Pet, done: number) => void },
  ) {
    this.#rows = rows;
    this.#create = create;
    this.#on = on;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** How many animals are settled: added or refused. */
  get done(): number {
    return this.#next;
  }

  /** Starts or continues. While it waits for the next attempt, that follows at once. */
  async run(): Promise<void> {
    this.#isPauseWanted = false;
    this.#endWait();
    if (this.#phase.name === 'running' || this.#phase.name === 'waiting') return;
    let failures = 0;
    for (let row = this.#rows[this.#next]; row !== undefined; row = this.#rows[this.#next]) {
      if (this.#isPauseWanted) return this.#enter(this.#ending);
      this.#enter({ name: 'running' });
      const fault = await this.#send(row);
      failures = fault === undefined ? 0 : failures + 1;
      if (fault === undefined) continue;
      const waitMs = waitAfter(fault, failures);
      if (waitMs === undefined) return this.#enter({ name: 'paused', fault });
      if (!this.#isPauseWanted) await this.#wait({ name: 'waiting', fault, waitMs });
    }
    this.#enter({ name: 'done' });
  }

  /** Pauses after the animal that is being sent. */
  pause(): void {
    this.#isPauseWanted = true;
    this.#endWait();
  }

  /** Ends it. The animals that were not sent stay out. */
  stop(): void {
    this.#ending = { name: 'done' };
    if (this.#phase.name === 'paused') this.#enter(this.#ending);
    else this.pause();
  }

  /** Returns why the row is not settled yet. */
  async #send(row: Row): Promise<Fault | undefined> {
    try {
      const pet = await this.#create(row.pet, { idempotencyKey: row.idempotencyKey });
      row.id = pet.id;
      this.#next += 1;
      this.#on.added(pet, this.#next);
    } catch (error) {
      const fault = explain(error);
      const { status, message } = fault;
      const isPassing = STATUSES_NOT_ABOUT_THE_ANIMAL.includes(status);
      if (status < 400 || status > 499 || isPassing) return fault;
      row.refusal = message;
      this.#next += 1;
    }
    return undefined;
  }

  async #wait(phase: Phase & { name: 'waiting' }): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, phase.waitMs);
    this.#endWait = resolve;
    this.#enter(phase);
    await promise;
    clearTimeout(timer);
  }

  #enter(phase: Phase): void {
    if (phase.name === 'running' && this.#phase.name === 'running') return;
    this.#phase = phase;
    this.#on.phase(phase);
  }
}

function waitAfter({ mend, status, waitMs }: Fault, failures: number): number | undefined {
  if (mend !== 'retry' || failures > FAILURES_MAX) return undefined;
  if (status === 429 || status === 503) return waitMs;
  return Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (failures - 1));
}

import type { NewPet, Pet } from '../../../../sdk/src/index.ts';
import { explain, type Fault } from './fault.ts';

const WAIT_MS_FIRST = 2_000;
const WAIT_MS_MAX = 30_000;
/** After this many failures in a row, about eight minutes, it pauses and the user decides. */
const FAILURES_MAX = 20;

/** After these, the same animal may be accepted later. Every other 4xx refuses the animal itself. */
const STATUSES_NOT_ABOUT_THE_ANIMAL = [401, 403, 408, 429];

/** One animal of the list, and its outcome. */
export interface Row {
  line: number;
  pet: NewPet;
  /** The number of this line among the identical ones of the list, from 1. */
  occurrence: number;
  /** Kept for every attempt, so that the service stores the animal once. */
  idempotencyKey: string;
  /** This browser has added the line before. */
  isSeen: boolean;
  id?: bigint;
  /** The line was added before, with this id, and was not added again. */
  wasThere?: boolean;
  /** Why the service did not accept the animal. */
  refusal?: string;
}

export type Phase =
  | { name: 'running' }
  | { name: 'done' }
  /** It has not started, or was paused by the user or by an error that waiting does not fix. */
  | { name: 'paused'; fault: Fault | undefined }
  /** It retries by itself. */
  | { name: 'waiting'; fault: Fault; waitMs: number };

/** The outcome of a create. */
export interface Creation {
  pet: Pet;
  /** An earlier request with the same Idempotency-Key had added the animal. */
  isReplay: boolean;
  /** Whether the first request succeeded. If not, a replay may be of an earlier attempt of this create. */
  isFirstAttempt: boolean;
}

export interface BulkEvents {
  phase: (phase: Phase) => void;
  added: (pet: Pet, row: Row) => void;
  /** The line was added before. */
  found: () => void;
}

const PAUSED: Phase = { name: 'paused', fault: undefined };

/**
 * Adds the animals one after the other, so that their ids have the order of the list. After an error it sends
 * the same animal again with the same Idempotency-Key: the service stores it once, even if only the response
 * was lost.
 */
export class BulkAdd {
  readonly #rows: readonly Row[];
  readonly #create: (pet: NewPet, idempotencyKey: string) => Promise<Creation>;
  readonly #on: BulkEvents;
  #next = 0;
  /** The row that was sent and has no final response yet. */
  #unsettled: Row | undefined;
  #phase: Phase = PAUSED;
  #isPauseWanted = false;
  /** The phase that a wanted pause leads to. */
  #ending: Phase = PAUSED;
  #endWait: () => void = () => undefined;

  constructor(
    rows: readonly Row[],
    create: (pet: NewPet, idempotencyKey: string) => Promise<Creation>,
    on: BulkEvents,
  ) {
    this.#rows = rows;
    this.#create = create;
    this.#on = on;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** How many animals have a final outcome: added or refused. */
  get done(): number {
    return this.#next;
  }

  /** Starts or continues. If it is waiting to retry, it retries at once. */
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

  /** Ends it. The remaining animals are not sent. */
  stop(): void {
    this.#ending = { name: 'done' };
    if (this.#phase.name === 'paused') this.#enter(this.#ending);
    else this.pause();
  }

  /** Returns the error if the row must be sent again. */
  async #send(row: Row): Promise<Fault | undefined> {
    try {
      const { pet, isReplay, isFirstAttempt } = await this.#create(row.pet, row.idempotencyKey);
      row.id = pet.id;
      // After a lost response, the replay is of the request that this run has sent before.
      const isOwn = !row.isSeen && (!isFirstAttempt || this.#unsettled === row);
      row.wasThere = isReplay && !isOwn;
      this.#next += 1;
      if (row.wasThere) this.#on.found();
      else this.#on.added(pet, row);
    } catch (error) {
      const fault = explain(error);
      const { status, message } = fault;
      const isPassing = STATUSES_NOT_ABOUT_THE_ANIMAL.includes(status);
      this.#unsettled = row;
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

function waitAfter({ action, status, waitMs }: Fault, failures: number): number | undefined {
  if (action !== 'retry' || failures > FAILURES_MAX) return undefined;
  if (status === 429 || status === 503) return waitMs;
  return Math.min(WAIT_MS_MAX, WAIT_MS_FIRST * 2 ** (failures - 1));
}

import type { PetStatus } from '../../src/domain/pet.ts';

const RETENTION_MS = 24 * 3_600_000;

/** An animal that is stored, or was. */
export interface Animal {
  id: bigint;
  name: string;
  status: PetStatus;
  isRemoved: boolean;
  /** Every read that begins later must show it. */
  knownSince: number;
}

/** A change by a command that has not said whether it was made. */
export type UnclearChange = { id: bigint } & ({ status: PetStatus } | { isRemoved: true });

/** When a claim expires: at one of these times of the clock, or between them. */
interface Expiry {
  fromMs: number;
  toMs: number;
}

/** A create that a client wants, however often it sends it. */
export interface Intent {
  name: string;
  /** As the animal is created: this is also what a repeated create returns. */
  status: PetStatus;
  claim: string | undefined;
  ids: bigint[];
  /** Undefined while no claim is stored. */
  expires: Expiry | undefined;
  /** The clock has passed the expiry once. The claim may be gone, even if the clock went back since. */
  isPerhapsForgotten: boolean;
  /** The attempts since the last comparison: when the first began and the last ended, by the clock. */
  attempts: Expiry | undefined;
  /** Whether one of these attempts has no clear outcome. */
  isUnclear: boolean;
  /** What each of these attempts may do: store an animal, or find the claim of an earlier one. */
  mayStore: boolean;
}

export function newIntent(
  name: string,
  { status, isClaimed }: { status: PetStatus; isClaimed: boolean },
): Intent {
  return {
    name,
    status,
    claim: isClaimed ? name : undefined,
    ids: [],
    expires: undefined,
    isPerhapsForgotten: false,
    attempts: undefined,
    isUnclear: false,
    mayStore: false,
  };
}

export interface Row {
  id: bigint;
  name: string;
  categoryId: bigint;
  status: PetStatus;
}

/** What must be true of the store, in the simplest form. */
export class Model {
  readonly animals = new Map<bigint, Animal>();
  readonly intents = new Map<string, Intent>();
  readonly violations: string[] = [];
  unclearChange: UnclearChange | undefined;
  /** The moment of the response that named each id. */
  readonly acknowledged = new Map<bigint, number>();
  #lastId = 0n;

  /** The clock stands here now: a claim that ended before may be removed. */
  noteClock(nowMs: number): void {
    for (const intent of this.intents.values()) {
      if (intent.expires !== undefined && intent.expires.fromMs <= nowMs) {
        intent.isPerhapsForgotten = true;
      }
    }
  }

  /** Whether a stored claim is found at this time. Undefined if both are right. */
  isClaimFound({ expires, isPerhapsForgotten }: Intent, nowMs: Expiry): boolean | undefined {
    if (expires === undefined || expires.toMs <= nowMs.fromMs) return false;
    return isPerhapsForgotten || expires.fromMs <= nowMs.toMs ? undefined : true;
  }

  noteAttempt(intent: Intent, nowMs: number): void {
    this.noteClock(nowMs);
    intent.attempts ??= { fromMs: nowMs, toMs: nowMs };
    const now = { fromMs: nowMs, toMs: nowMs };
    if (intent.claim === undefined || this.isClaimFound(intent, now) !== true) {
      intent.mayStore = true;
    }
  }

  /** Compares what is stored with what must be and may be. Nothing is being sent meanwhile. */
  reconcile(rows: readonly Row[], moment: number): void {
    const before = this.#lastId;
    const stored = new Set(rows.map(({ id }) => id));
    for (const row of rows) {
      const known = this.animals.get(row.id);
      if (known === undefined) this.#meet(row, before, moment);
      else this.#compare(known, row);
    }
    for (const animal of this.animals.values()) {
      if (stored.has(animal.id) || animal.isRemoved) continue;
      const { unclearChange } = this;
      animal.isRemoved = true;
      if (unclearChange?.id === animal.id && 'isRemoved' in unclearChange) continue;
      this.fail(`the animal ${animal.id} (${animal.name}) is lost`);
    }
    for (const id of this.acknowledged.keys()) {
      if (!this.animals.has(id)) this.fail(`the animal ${id} was acknowledged, but is not stored`);
    }
    this.unclearChange = undefined;
    for (const intent of this.intents.values()) {
      intent.attempts = undefined;
      intent.isUnclear = false;
      intent.mayStore = false;
    }
  }

  /** An animal that was not there at the last comparison. */
  #meet(row: Row, before: bigint, moment: number): void {
    if (row.id <= before) this.fail(`the id ${row.id} appeared after ${before}`);
    if (row.id > this.#lastId) this.#lastId = row.id;
    const intent = this.intents.get(row.name);
    if (intent?.attempts === undefined) {
      this.fail(`${row.name} was stored as ${row.id}, but nobody was creating it`);
      return;
    }
    if (!intent.mayStore) this.fail(`${row.name} was stored again, as ${row.id}`);
    // Also if an attempt is unclear: it has a claim, or it was sent once.
    intent.mayStore = false;
    if (!this.acknowledged.has(row.id) && !intent.isUnclear) {
      this.fail(`${row.name} was stored as ${row.id}, but no response says so`);
    }
    if (row.status !== intent.status || row.categoryId !== 1n) this.fail(`${row.id} is changed`);
    intent.ids.push(row.id);
    const { fromMs, toMs } = intent.attempts;
    intent.expires = { fromMs: fromMs + RETENTION_MS, toMs: toMs + RETENTION_MS };
    intent.isPerhapsForgotten = false;
    const knownSince = this.acknowledged.get(row.id) ?? moment;
    const { name, status } = intent;
    this.animals.set(row.id, { id: row.id, name, status, isRemoved: false, knownSince });
  }

  #compare(animal: Animal, { id, name, categoryId, status }: Row): void {
    const { unclearChange } = this;
    if (animal.isRemoved) this.fail(`the removed animal ${id} is there again`);
    if (unclearChange?.id === id && 'status' in unclearChange && unclearChange.status === status) {
      animal.status = status;
    }
    if (name !== animal.name || categoryId !== 1n || status !== animal.status) {
      this.fail(`the animal ${id} has changed: ${name} ${status}`);
    }
  }

  fail(violation: string): void {
    this.violations.push(violation);
  }
}

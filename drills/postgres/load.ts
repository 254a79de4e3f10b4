import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../src/domain/errors.ts';
import { newIdempotencyClaim } from '../../src/domain/idempotency.ts';
import type { NewPet, Pet } from '../../src/domain/pet.ts';
import type { Creation } from '../../src/domain/store.ts';
import type { Catalogue, Target } from './target.ts';

/** Every call must end within this time, whatever happens to the database, unless a drill sets another. */
const CALL_MS_MAX = 5_000;
const PAUSE_AFTER_REFUSAL_MS = 20;
const PAGE_ANIMALS = 1_000;

export interface LoadReport {
  calls: number;
  acknowledged: number;
  refused: number;
  slowestCallMs: number;
  violations: string[];
}

/**
 * Clients that create and read animals until they are stopped, and record what was acknowledged. Every animal
 * has a unique name, so that `check` can compare the record with the stored animals.
 */
export class Load {
  readonly #catalogue: Catalogue;
  readonly #apiKeyId: string;
  readonly #callMsMax: number;
  readonly #violations: string[] = [];
  /** The acknowledged id of each animal, by name. */
  readonly #acknowledged = new Map<string, bigint>();
  #calls = 0;
  #refused = 0;
  #slowestCallMs = 0;
  #lastAcknowledgedAt = 0;
  #isStopping = false;
  #clients: Promise<void>[] = [];

  constructor({ catalogue, apiKeyId }: Target, callMsMax = CALL_MS_MAX) {
    this.#callMsMax = callMsMax;
    this.#catalogue = catalogue;
    this.#apiKeyId = apiKeyId;
  }

  start(clients: number): void {
    this.#isStopping = false;
    this.#clients = Array.from({ length: clients }, (_, index) => this.#client(index));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#clients);
  }

  /** Resolves when a create that began after this call is acknowledged. Returns the milliseconds until then. */
  async untilAcknowledged(timeoutMs: number): Promise<number> {
    const from = performance.now();
    while (this.#lastAcknowledgedAt <= from) {
      if (performance.now() - from > timeoutMs) {
        this.#violations.push(`no create was acknowledged within ${timeoutMs} ms after the fault`);
        break;
      }
      await sleep(5);
    }
    return performance.now() - from;
  }

  /** Reads the whole catalogue and compares it with every acknowledged create. */
  async check(): Promise<LoadReport> {
    const stored = new Map<string, bigint>();
    let afterId = 0n;
    for (;;) {
      const page = await this.#catalogue.listPetJson({
        status: undefined,
        afterId,
        count: PAGE_ANIMALS,
      });
      for (const [id, json] of page) {
        const { name } = JSON.parse(json) as { name: string };
        if (stored.has(name)) this.#violations.push(`${name} is stored twice`);
        stored.set(name, id);
        afterId = id;
      }
      if (page.length === 0) break;
    }
    for (const [name, id] of this.#acknowledged) {
      if (stored.get(name) !== id) {
        this.#violations.push(
          `${name} was acknowledged with id ${id} and is stored with id ${stored.get(name)}`,
        );
      }
    }
    return {
      calls: this.#calls,
      acknowledged: this.#acknowledged.size,
      refused: this.#refused,
      slowestCallMs: Math.round(this.#slowestCallMs),
      violations: this.#violations,
    };
  }

  async #client(client: number): Promise<void> {
    for (let number = 0; !this.#isStopping; number += 1) {
      const name = `${client}-${number}-${performance.now()}`;
      // Two of three creates carry a claim, and those are retried until they are acknowledged.
      const isClaimed = number % 3 !== 0;
      const creation = await this.#create(
        { name, categoryId: BigInt(number), status: 'available' },
        isClaimed,
      );
      if (creation === undefined || creation.kind === 'claim_conflict') continue;
      this.#check(creation.pet, name);
      this.#acknowledged.set(name, creation.pet.id);
      const found = await this.#call(() => this.#catalogue.findPet(creation.pet.id));
      if (found !== undefined) this.#check(found.result, name);
    }
  }

  async #create(pet: NewPet, isClaimed: boolean): Promise<Creation | undefined> {
    const options = { apiKeyId: this.#apiKeyId, now: new Date() };
    const claim = isClaimed ? newIdempotencyClaim(pet.name, pet, options) : undefined;
    for (;;) {
      const began = performance.now();
      const created = await this.#call(() => this.#catalogue.createPet(pet, claim));
      if (created !== undefined) this.#lastAcknowledgedAt = began;
      if (created !== undefined || !isClaimed || this.#isStopping) return created?.result;
    }
  }

  #check(pet: Pet | undefined, name: string): void {
    if (pet?.name !== name) this.#violations.push(`expected ${name} but got ${pet?.name}`);
  }

  /** Returns undefined if the call failed. Only 503 may fail it; another error or a slow call is a violation. */
  async #call<Result>(call: () => Promise<Result>): Promise<{ result: Result } | undefined> {
    const began = performance.now();
    this.#calls += 1;
    try {
      return { result: await call() };
    } catch (error) {
      this.#refused += 1;
      if (!(error instanceof Refusal) || error.status !== 503) {
        this.#violations.push(`a call failed with ${String(error)}`);
      }
      await sleep(PAUSE_AFTER_REFUSAL_MS);
      return undefined;
    } finally {
      const tookMs = performance.now() - began;
      this.#slowestCallMs = Math.max(this.#slowestCallMs, tookMs);
      if (tookMs > this.#callMsMax) {
        this.#violations.push(`a call took ${Math.round(tookMs)} ms`);
      }
    }
  }
}

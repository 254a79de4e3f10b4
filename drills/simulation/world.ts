import { join } from 'node:path';
import { newRandom, type Random } from '../../harness/random.ts';
import { simulated } from './database.ts';
import { Model, newIntent, type UnclearChange } from './model.ts';
import { PATIENCE_MS, Processes } from './processes.ts';
import {
  checkKey,
  checkResponse,
  isClaimFound,
  optionsOf,
  targetOf,
  type Exchange,
} from './responses.ts';
import { newClientKey, newHttpRequest, type ClientKey } from './service.ts';
import { KEYS, SERVICES, type Request, type Step } from './story.ts';
import type { VirtualTime } from './virtual-time.ts';

const START_MS = Date.parse('2026-11-15T12:00:00Z');
/** How long after a fault the store may still refuse: the slowest fault takes 6 s. */
const RECOVERY_MS = 12_000;
/** Long enough for a create of another process. */
const TURN_MS_MAX = 15;
/** A create takes as long, unless something fails. */
const WATCHED_MS = 20;
/** A revoked key is refused everywhere within this time. */
const REVOCATION_MS = 5_000;

/** What all worlds of a process share. */
export interface WorldRuntime {
  time: VirtualTime;
  folder: string;
  /** The file of an empty store. */
  emptyStore: Buffer;
  setRandom: (random: Random) => void;
}

/** Two services with their clients. It performs a story, and its model says what must be true. */
export class World {
  readonly #model = new Model();
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #processes: Processes;
  readonly #keys: ClientKey[] = [];
  /** The key that each create is sent with. */
  readonly #keyOf = new Map<string, ClientKey>();
  /** Claimed creates whose clients have no response yet. */
  readonly #unanswered = new Set<string>();
  /** The last response to each list, for conditional requests. */
  readonly #known = new Map<string, Exchange>();
  /** Sent since everything was last compared with the model. */
  #exchanges: Exchange[] = [];
  #skewMs = 0;
  #moment = 0;
  #lastFaultMs = Number.NEGATIVE_INFINITY;

  constructor({ time, folder, emptyStore, setRandom }: WorldRuntime, seed: number) {
    this.#time = time;
    this.#random = newRandom(seed);
    setRandom(this.#random);
    time.nextTurnMs = () => this.#random.integer(TURN_MS_MAX);
    const clock = { now: () => new Date(this.#nowMs), elapsedMs: () => time.nowMs };
    const file = join(folder, 'petstore.sqlite');
    this.#processes = new Processes({ file, clock }, time, emptyStore);
    simulated.fault = undefined;
    simulated.onFault = () => {
      this.#lastFaultMs = time.nowMs;
    };
  }

  /** Performs the steps until one violates the model, and returns the violations. */
  async perform(story: readonly Step[]): Promise<string[]> {
    const { violations } = this.#model;
    try {
      await this.#processes.start();
      for (let key = 0; key < KEYS; key += 1) await this.#addKey(key, undefined);
      for (const step of story) {
        await this.#perform(step);
        if (violations.length > 0) break;
      }
      await this.#settle();
    } catch (error) {
      violations.push(String(error instanceof Error ? error.stack : error));
    }
    this.#processes.remove();
    return violations;
  }

  get #nowMs(): number {
    return START_MS + this.#time.nowMs + this.#skewMs;
  }

  async #perform(step: Step): Promise<void> {
    if (this.#processes.hasFailed) {
      await this.#settle();
      await this.#processes.restart();
    }
    if (step.do === 'fault') {
      simulated.fault = step.fault;
      return;
    }
    if ('isOverlapped' in step) {
      const exchange = this.#newExchange(step);
      if (exchange !== undefined) {
        if (step.do === 'create' && step.isWatched) this.#watch(exchange);
        this.#send(exchange);
      }
      if (!step.isOverlapped) await this.#settle();
      return;
    }
    if (step.do === 'restart' && step.isKilled) this.#kill();
    await this.#settle();
    if (step.do === 'restart') await this.#processes.restart();
    else if (step.do === 'wait') await this.#time.runUntil(() => false, step.ms);
    else if (step.do === 'jump') this.#jump(step.byMs);
    else if (step.do === 'revoke') await this.#revoke(step.key);
    else if (step.do === 'new key') await this.#addKey(step.key, step.lifeMs);
    else await this.#change(step);
  }

  #newExchange(step: Request): Exchange | undefined {
    if (step.do === 'create') return this.#newCreate(step);
    if (step.do === 'retry' || step.do === 'repeat') return this.#newRepetition(step);
    const key = this.#keys[step.key];
    if (key === undefined) return undefined;
    const ids = [...this.#model.animals.keys()];
    const chosen = (which: number) => ids[which % Math.max(1, ids.length)] ?? 0n;
    const { service } = step;
    if (step.do === 'get') return { kind: 'get', key, service, id: chosen(step.which) };
    const { limit, status, isConditional } = step;
    const afterId = step.after === 0 ? 0n : chosen(step.after);
    return { kind: 'list', key, service, query: { limit, status, afterId }, isConditional };
  }

  #newCreate(step: Step & { do: 'create' }): Exchange | undefined {
    const key = this.#keys[step.key];
    if (key === undefined) return undefined;
    const intent = newIntent(`animal-${this.#model.intents.size}`, step);
    this.#model.intents.set(intent.name, intent);
    this.#keyOf.set(intent.name, key);
    if (step.isClaimed) this.#unanswered.add(intent.name);
    const { service, isLost } = step;
    return { kind: 'create', key, service, intent, isChanged: false, isLost };
  }

  #newRepetition(step: Step & { do: 'retry' | 'repeat' }): Exchange | undefined {
    const names = step.do === 'retry' ? [...this.#unanswered] : [...this.#model.intents.keys()];
    const intent = this.#model.intents.get(names[step.which % Math.max(1, names.length)] ?? '');
    const key = this.#keyOf.get(intent?.name ?? '');
    if (intent?.claim === undefined || key === undefined) return undefined;
    const isChanged = step.do === 'repeat' && step.isChanged;
    const nowMs = { fromMs: this.#nowMs, toMs: this.#nowMs + PATIENCE_MS };
    // A changed create is sent only while its claim is certainly found.
    if (isChanged && this.#model.isClaimFound(intent, nowMs) !== true) return undefined;
    const isLost = step.do === 'retry' && step.isLost;
    return { kind: 'create', key, service: step.service, intent, isChanged, isLost };
  }

  /**
   * Others read the end of the list through the next service all the time, so that it is cached, and one of them arrives in
   * the turn of the event loop in which the create is acknowledged. Its client reads it in that turn.
   */
  #watch(create: Exchange): void {
    const { key } = create;
    const service = (create.service + 1) % SERVICES;
    const afterId = [...this.#model.animals.keys()].reduce(
      (last, id) => (id > last ? id : last),
      0n,
    );
    const query = { limit: 100, status: undefined, afterId };
    const read = () => this.#send({ kind: 'list', key, service, query, isConditional: false });
    create.onResponse = read;
    for (let ms = 1; ms <= WATCHED_MS; ms += 1) {
      this.#time.in(ms, () => {
        if (create.end === undefined) read();
      });
    }
  }

  #send(exchange: Exchange): void {
    this.#moment += 1;
    exchange.start = { moment: this.#moment, ms: this.#time.nowMs, clockMs: this.#nowMs };
    exchange.known = this.#known.get(targetOf(exchange));
    if (exchange.kind === 'create' && !exchange.isChanged) {
      this.#model.noteAttempt(exchange.intent, this.#nowMs);
    }
    this.#exchanges.push(exchange);
    const request = newHttpRequest(exchange.key, targetOf(exchange), optionsOf(exchange));
    const respond = async () => {
      const response = await this.#processes.service(exchange.service).handle(request);
      if (exchange.end !== undefined) return;
      exchange.response = response;
      this.#end(exchange);
      exchange.onResponse?.();
    };
    void respond();
  }

  /** Nothing more comes of this request: its response is there, or the process was killed. */
  #end(exchange: Exchange): void {
    this.#moment += 1;
    exchange.end = { moment: this.#moment, ms: this.#time.nowMs, clockMs: this.#nowMs };
    if (exchange.kind !== 'create') return;
    const { response, intent, isLost, isChanged } = exchange;
    if (intent.attempts !== undefined) intent.attempts.toMs = this.#nowMs;
    if (response === undefined || response.status >= 500) intent.isUnclear = true;
    else if (!isLost && !isChanged) this.#unanswered.delete(intent.name);
    if (response?.status === 201) {
      const id = BigInt(/"id":(\d+)/.exec(response.body)?.[1] ?? 0);
      if (!this.#model.acknowledged.has(id)) this.#model.acknowledged.set(id, this.#moment);
    }
  }

  /** Waits for every response, then compares everything with the model. */
  async #settle(): Promise<void> {
    const exchanges = this.#exchanges;
    if (exchanges.length === 0) return;
    const isOver = () => exchanges.every(({ end }) => end !== undefined);
    if (!(await this.#time.runUntil(isOver, PATIENCE_MS))) {
      this.#model.fail(`a request has no response after ${PATIENCE_MS} ms`);
    }
    this.#exchanges = [];
    // Before the comparison, which forgets the attempts.
    const claims = exchanges.map((exchange) => isClaimFound(exchange, exchanges, this.#model));
    this.#compare();
    for (const [index, exchange] of exchanges.entries()) {
      const isFaulty = (exchange.end?.ms ?? 0) - this.#lastFaultMs <= RECOVERY_MS;
      checkKey(exchange, isFaulty, this.#model);
      checkResponse(exchange, claims[index], this.#model);
      if (exchange.kind === 'list' && exchange.response?.status === 200) {
        this.#known.set(targetOf(exchange), exchange);
      }
    }
  }

  #compare(): void {
    this.#moment += 1;
    this.#model.reconcile(this.#processes.observe(), this.#moment);
  }

  #kill(): void {
    this.#processes.end();
    for (const exchange of this.#exchanges) if (exchange.end === undefined) this.#end(exchange);
  }

  #jump(byMs: number): void {
    this.#skewMs += byMs;
    this.#model.noteClock(this.#nowMs);
  }

  async #addKey(slot: number, lifeMs: number | undefined): Promise<void> {
    const now = new Date(this.#nowMs);
    const expiresAt = lifeMs === undefined ? undefined : new Date(this.#nowMs + lifeMs);
    const key = newClientKey(this.#random, now, expiresAt);
    const outcome = await this.#processes.command((store) => store.createApiKey(key.record));
    if ('value' in outcome) this.#keys[slot] = key;
  }

  async #revoke(slot: number): Promise<void> {
    const key = this.#keys[slot];
    if (key === undefined) return;
    key.isPerhapsRevoked = true;
    const { id } = key.record;
    const revokedAt = new Date(this.#nowMs);
    const outcome = await this.#processes.command((store) => store.revokeApiKey(id, revokedAt));
    if ('error' in outcome) return;
    key.refusedFromMs ??= this.#time.nowMs + REVOCATION_MS;
    if (!outcome.value) this.#model.fail(`the key ${id} is lost`);
  }

  async #change(step: Step & { do: 'set status' | 'remove' }): Promise<void> {
    const animals = [...this.#model.animals.values()].filter(({ isRemoved }) => !isRemoved);
    const animal = animals[step.which % Math.max(1, animals.length)];
    if (animal === undefined) return;
    const { id } = animal;
    const change: UnclearChange =
      step.do === 'remove' ? { id, isRemoved: true } : { id, status: step.status };
    const outcome = await this.#processes.command(async (store) => {
      const from = await store.findPet(id);
      if (from === undefined) return false;
      const to = step.do === 'remove' ? undefined : { ...from, status: step.status };
      const conflicts = await store.changePets([{ from, to }]);
      return conflicts.length === 0;
    });
    if ('error' in outcome) this.#model.unclearChange = change;
    else if (outcome.value) Object.assign(animal, change);
    else this.#model.fail(`a command does not find the animal ${id}`);
    this.#compare();
  }
}

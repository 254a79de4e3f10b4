import { join } from 'node:path';
import { newRandom, type Random } from '../../harness/random.ts';
import { simulated } from './database.ts';
import { Processes } from './processes.ts';
import { newClientKey, newHttpRequest, type ClientKey } from './service.ts';
import type { WorldRuntime } from './world.ts';

const START_MS = Date.parse('2026-11-15T12:00:00Z');
/** The store takes 500 creates per second. */
const CREATE_MS = 2;
const NORMAL_PER_SECOND = 400;
const OFFERED_PER_SECOND = 2_500;
const LISTS_PER_SECOND = 200;
const NORMAL_MS = 5_000;
/** Until the queue is full, and until what waits then is stored. */
const CHANGE_MS = 1_000;
/** What may wait before an accepted create: the creates of 60 ms, 2 ms each. */
const CREATE_MS_MAX = 300;
/** Neither waits for anything: there is time for a turn of the event loop. */
const READ_MS_MAX = 1;
const REFUSAL_MS_MAX = 1;
const PATIENCE_MS = 60_000;

interface Sent {
  kind: 'create' | 'list';
  startMs: number;
  endMs: number | undefined;
  status: number;
}

/** Offers five times what a slow store can take, in an open loop. Time is virtual: no figure depends on the machine. */
export class Overload {
  readonly #runtime: WorldRuntime;
  readonly #random: Random;
  readonly #processes: Processes;
  readonly #sent: Sent[] = [];
  readonly #key: ClientKey;

  constructor(runtime: WorldRuntime, seed: number) {
    const { time, folder, emptyStore, setRandom } = runtime;
    this.#runtime = runtime;
    this.#random = newRandom(seed);
    setRandom(this.#random);
    const clock = { now: () => new Date(START_MS + time.nowMs), elapsedMs: () => time.nowMs };
    const file = join(folder, 'overloaded.sqlite');
    this.#processes = new Processes({ file, clock }, time, emptyStore);
    this.#key = newClientKey(this.#random, clock.now(), undefined);
  }

  /** Returns the violations. */
  async run(overloadMs: number): Promise<string[]> {
    const { time } = this.#runtime;
    // Before the start: a key that is new is looked for only every 100 ms.
    await this.#processes.command((store) => store.createApiKey(this.#key.record));
    await this.#processes.start(1);
    simulated.createMs = CREATE_MS;
    const startMs = time.nowMs;
    const overloadedMs = startMs + NORMAL_MS;
    const afterMs = overloadedMs + overloadMs;
    const endMs = afterMs + CHANGE_MS + NORMAL_MS;
    const isOverloaded = () => time.nowMs >= overloadedMs && time.nowMs < afterMs;
    const rate = () => (isOverloaded() ? OFFERED_PER_SECOND : NORMAL_PER_SECOND);
    this.#sendUntil(endMs, 'create', rate);
    this.#sendUntil(endMs, 'list', () => LISTS_PER_SECOND);
    const isOver = () =>
      time.nowMs >= endMs && this.#sent.every((each) => each.endMs !== undefined);
    const hasEnded = await time.runUntil(isOver, endMs - startMs + PATIENCE_MS);
    const stored = this.#processes.observe().length;
    simulated.createMs = 0;
    this.#processes.remove();
    const between = (fromMs: number, toMs: number) =>
      this.#sent.filter((each) => each.startMs >= fromMs && each.startMs < toMs);
    const during = between(overloadedMs + CHANGE_MS, afterMs);
    const perSecond = creates(during, 201).length / ((overloadMs - CHANGE_MS) / 1_000);
    return [
      ...(hasEnded ? [] : ['a request has no response']),
      ...normalFaults(between(startMs, overloadedMs)),
      ...(creates(during, 503).length > 0 ? [] : ['no create was refused']),
      ...(perSecond >= NORMAL_PER_SECOND ? [] : [`${perSecond} creates per second were accepted`]),
      ...tooSlow('an accepted create', creates(during, 201), CREATE_MS_MAX),
      ...tooSlow('a refusal', creates(this.#sent, 503), REFUSAL_MS_MAX),
      ...tooSlow('a list', lists(this.#sent), READ_MS_MAX),
      ...normalFaults(between(afterMs + CHANGE_MS, endMs)),
      ...(stored === creates(this.#sent, 201).length ? [] : [`${stored} animals are stored`]),
    ];
  }

  /** The next request is sent after a random time, whether this one has a response or not. */
  #sendUntil(endMs: number, kind: Sent['kind'], perSecond: () => number): void {
    const { time } = this.#runtime;
    if (time.nowMs >= endMs) return;
    void this.#send(kind);
    const delayMs = (this.#random.integer(2_000) + 1) / perSecond();
    time.in(delayMs, () => this.#sendUntil(endMs, kind, perSecond));
  }

  async #send(kind: Sent['kind']): Promise<void> {
    const { time } = this.#runtime;
    const sent: Sent = { kind, startMs: time.nowMs, endMs: undefined, status: 0 };
    this.#sent.push(sent);
    const create = {
      body: '{"name":"Rex","categoryId":1}',
      headers: { 'content-type': 'application/json' },
    };
    const request = newHttpRequest(this.#key, '/pets', kind === 'create' ? create : {});
    const { status } = await this.#processes.service(0).handle(request);
    sent.status = status;
    sent.endMs = time.nowMs;
  }
}

const creates = (sent: readonly Sent[], withStatus: number) =>
  sent.filter(({ kind, status }) => kind === 'create' && status === withStatus);

const lists = (sent: readonly Sent[]) => sent.filter(({ kind }) => kind === 'list');

/** Without overload everything is accepted. */
function normalFaults(sent: readonly Sent[]): string[] {
  const others = sent.filter(({ kind, status }) => status !== (kind === 'create' ? 201 : 200));
  return others.slice(0, 1).map(({ kind, status }) => `without overload a ${kind} got ${status}`);
}

function tooSlow(what: string, sent: readonly Sent[], msMax: number): string[] {
  const slowestMs = Math.max(0, ...sent.map(({ startMs, endMs = Infinity }) => endMs - startMs));
  return slowestMs > msMax ? [`${what} took ${slowestMs} ms`] : [];
}

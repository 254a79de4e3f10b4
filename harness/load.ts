import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StalledRequest, type ClientRequest, type ClientResponse } from './client.ts';
import { Creates } from './creates.ts';

/** A refusal is immediate: without this pause the clients would send thousands. */
const PAUSE_AFTER_REFUSAL_MS = 10;
const POLL_MS = 5;
/** A create that got no response is repeated for this long. */
const REPEAT_MS_MAX = 20_000;
const REPEATERS = 16;

/** A request with the status that its response must have. */
export interface OtherRequest extends ClientRequest {
  path: string;
  status: number;
}

export interface LoadOptions {
  key: string;
  /** Where the next request goes. */
  baseUrl: () => string;
  /** One request in so many is a create. The others list animals, and get the newest one. By default all are. */
  createEvery?: number;
  /** One create in so many has no Idempotency-Key. The others have one, and are repeated until they succeed. */
  unclaimedEvery?: number;
  /** Ends the name of the next animal. */
  nameEnd?: () => string;
  /** Sent instead of lists and gets. */
  others?: () => OtherRequest;
  /** The pause of each client between two requests. */
  pauseMs?: number;
  isTimed?: boolean;
  /** Responses with 503 are no violation. */
  mayRefuse?: boolean;
  /** Connections that end without a response are no violation. */
  mayDisconnect?: boolean;
  /** A request that takes longer is a violation. */
  requestMsMax?: number;
}

/** The time of a request is infinite until it has ended. */
export interface Sent {
  startMs: number;
  tookMs: number;
  /** With 503. */
  isRefused: boolean;
}

/** Clients that create and read animals until they are stopped. Each keeps its connection. */
export class Load {
  readonly creates: Creates;
  /** Each request, if the load is timed. */
  readonly sent: Sent[] = [];
  /** When creates were acknowledged. */
  readonly acknowledgedMs: number[] = [];
  readonly counts = { requests: 0, refused: 0, unanswered: 0, repeated: 0, slowestMs: 0 };
  readonly #options: LoadOptions;
  readonly #inFlight = new Map<string, number>();
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.creates = new Creates(options.nameEnd);
  }

  get violations(): string[] {
    return this.creates.violations;
  }

  /** Starts so many clients, which send one request after the other, or creates at a fixed rate. */
  start(clients: number, perSecond?: number): void {
    this.#isOver = false;
    const all = Array.from({ length: clients }, () => new Client(this.#options.key));
    const work =
      perSecond === undefined
        ? Promise.all(all.map((client) => this.#repeatedly(client)))
        : this.#steadily(all, perSecond);
    this.#running = work.finally(() => all.forEach((client) => client.close()));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Resolves when a create that began after this call is acknowledged. Returns the milliseconds until then. */
  async untilAcknowledged(withinMs: number): Promise<number> {
    const from = performance.now();
    while ((this.acknowledgedMs.at(-1) ?? 0) <= from) {
      if (performance.now() - from > withinMs) {
        this.violations.push(`no create was acknowledged within ${withinMs} ms after the fault`);
        break;
      }
      await sleep(POLL_MS);
    }
    return Math.round(performance.now() - from);
  }

  /** Resolves when the process has responded to all requests. */
  async untilIdle(baseUrl: string): Promise<void> {
    while ((this.#inFlight.get(baseUrl) ?? 0) > 0) await sleep(POLL_MS);
  }

  /** The longest time without an acknowledged create since this time. */
  longestGapMs(sinceMs: number): number {
    const times = this.acknowledgedMs.filter((time) => time >= sinceMs);
    const gaps = [...times, performance.now()].map((time, at) => time - (times[at - 1] ?? sinceMs));
    return Math.round(Math.max(...gaps));
  }

  /** Repeats the creates of these names that have an Idempotency-Key. Each must get the same animal as before. */
  async repeat(baseUrl: string, names: Iterable<string>, clients = REPEATERS): Promise<void> {
    const waiting = [...names].filter((name) => this.isClaimed(name));
    this.counts.repeated += waiting.length;
    const work = async () => {
      const client = new Client(this.#options.key);
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        const untilMs = performance.now() + REPEAT_MS_MAX;
        while (!(await this.#create(client, baseUrl, name))) {
          if (performance.now() < untilMs) continue;
          this.violations.push(`${name} could not be repeated within ${REPEAT_MS_MAX} ms`);
          break;
        }
      }
      client.close();
    };
    await Promise.all(Array.from({ length: clients }, work));
  }

  /** Compares what is stored with what was acknowledged. */
  compare(baseUrl: string, options?: { isAll: boolean }): Promise<void> {
    return this.creates.compare(baseUrl, this.#options.key, options);
  }

  async #repeatedly(client: Client): Promise<void> {
    const { createEvery = 1, pauseMs = 0, baseUrl } = this.#options;
    while (!this.#isOver) {
      const number = (this.counts.requests += 1);
      if (number % createEvery === 0) await this.#createUntilDone(client);
      else await this.#read(client, baseUrl(), number);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }

  /** At this rate, whatever the responses are. */
  async #steadily(clients: readonly Client[], perSecond: number): Promise<void> {
    const startedMs = performance.now();
    const sent: Promise<unknown>[] = [];
    while (!this.#isOver) {
      const due = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000);
      while (sent.length < due) {
        const client = clients[sent.length % clients.length];
        if (client !== undefined) sent.push(this.#createUntilDone(client));
      }
      await sleep(POLL_MS);
    }
    await Promise.all(sent);
  }

  async #createUntilDone(client: Client): Promise<void> {
    const name = this.creates.begin();
    while (!(await this.#create(client, this.#options.baseUrl(), name))) {
      if (this.#isOver || !this.isClaimed(name)) break;
    }
  }

  /** Whether the create of this name has an Idempotency-Key. */
  isClaimed(name: string): boolean {
    const { unclaimedEvery } = this.#options;
    return unclaimedEvery === undefined || Number(/\d+/.exec(name)?.[0]) % unclaimedEvery !== 0;
  }

  /** Returns whether the create was acknowledged. */
  async #create(client: Client, baseUrl: string, name: string): Promise<boolean> {
    const isClaimed = this.isClaimed(name);
    const sentMs = performance.now();
    const response = await this.#send(baseUrl, `the create of ${name}`, 201, () =>
      client.create(baseUrl, name, { isClaimed }),
    );
    if (response === undefined) return false;
    this.creates.acknowledge(name, response.body);
    this.acknowledgedMs.push(sentMs);
    return true;
  }

  async #read(client: Client, baseUrl: string, number: number): Promise<void> {
    const other = this.#options.others?.();
    if (other !== undefined) {
      const { path, status, method = 'GET' } = other;
      const what = `${method} ${path}`;
      await this.#send(baseUrl, what, status, () => client.send(baseUrl + path, other));
      return;
    }
    const newest = (number >> 1) % 2 === 0 ? this.creates.newest : undefined;
    const path = newest === undefined ? '/pets?limit=20' : `/pets/${newest.id}`;
    const response = await this.#send(baseUrl, `GET ${path}`, 200, () =>
      client.get(baseUrl + path),
    );
    if (newest === undefined || response === undefined) return;
    if (JSON.stringify(JSON.parse(response.body)) === JSON.stringify(newest)) return;
    this.violations.push(`GET ${path} returned ${response.body}`);
  }

  /** Returns undefined if there was no response with this status. */
  async #send(
    baseUrl: string,
    what: string,
    expected: number,
    send: () => Promise<ClientResponse>,
  ): Promise<ClientResponse | undefined> {
    const { mayRefuse, mayDisconnect, requestMsMax = Number.POSITIVE_INFINITY } = this.#options;
    this.#inFlight.set(baseUrl, (this.#inFlight.get(baseUrl) ?? 0) + 1);
    const sent = { startMs: performance.now(), tookMs: Number.POSITIVE_INFINITY, isRefused: false };
    if (this.#options.isTimed === true) this.sent.push(sent);
    try {
      const response = await send();
      if (response.status === expected) return response;
      sent.isRefused = response.status === 503;
      if (sent.isRefused) this.counts.refused += 1;
      if (!sent.isRefused || mayRefuse !== true) {
        this.violations.push(`${what} failed: ${response.status} ${response.body}`);
      }
    } catch (error) {
      this.counts.unanswered += 1;
      if (mayDisconnect !== true || error instanceof StalledRequest) {
        this.violations.push(`${what} failed: ${String(error)}`);
      }
    } finally {
      const tookMs = performance.now() - sent.startMs;
      sent.tookMs = tookMs;
      this.counts.slowestMs = Math.max(this.counts.slowestMs, Math.round(tookMs));
      if (tookMs > requestMsMax) this.violations.push(`${what} took ${Math.round(tookMs)} ms`);
      this.#inFlight.set(baseUrl, (this.#inFlight.get(baseUrl) ?? 1) - 1);
    }
    await sleep(PAUSE_AFTER_REFUSAL_MS);
    return undefined;
  }
}

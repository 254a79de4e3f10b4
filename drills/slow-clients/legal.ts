import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';
import { p99, StolenTime, UNDISTURBED_SHARE_MIN, type Timed } from '../stolen-time.ts';

const CLIENTS = 8;
/** The pause of each client between two requests. */
const PAUSE_MS = 10;
const CREATE_EVERY = 4;

/** Clients that behave, and how long they wait for their responses. */
export class LegalClients {
  readonly violations: string[] = [];
  readonly #stolenTime = new StolenTime();
  #responses: Timed[] = [];
  #isOver = false;
  #connected = 0;
  readonly #ended: Promise<unknown>;
  created = 0;
  requests = 0;

  constructor(baseUrl: string, key: string) {
    this.#ended = Promise.all(Array.from({ length: CLIENTS }, () => this.#send(baseUrl, key)));
  }

  /** Resolves when each client has its connection. */
  async untilConnected(): Promise<void> {
    while (this.#connected < CLIENTS) await sleep(PAUSE_MS);
  }

  /** The 99th percentile of the responses since the last call that the host of this machine did not disturb. */
  takeP99Ms(): number {
    const { tookMs, share } = this.#stolenTime.undisturbed(this.#responses);
    this.#responses = [];
    return share >= UNDISTURBED_SHARE_MIN ? p99(tookMs) : Number.NaN;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
    this.#stolenTime[Symbol.dispose]();
  }

  async #send(baseUrl: string, key: string): Promise<void> {
    const client = new Client(key);
    for (let isFirst = true; !this.#isOver; isFirst = false) {
      await sleep(PAUSE_MS);
      const number = (this.requests += 1);
      const isCreate = number % CREATE_EVERY === 0;
      const sentMs = Date.now();
      const sentAtMs = performance.now();
      try {
        const { status } = isCreate
          ? await client.create(baseUrl, `animal-${number}`, { isClaimed: false })
          : await client.get(`${baseUrl}/pets?limit=${(number % 100) + 1}`);
        if (status !== (isCreate ? 201 : 200))
          this.violations.push(`a legal request got ${status}`);
        else if (isCreate) this.created += 1;
      } catch (error) {
        this.violations.push(`a legal request failed: ${String(error)}`);
      }
      this.#responses.push({ sentMs, tookMs: performance.now() - sentAtMs });
      if (isFirst) this.#connected += 1;
    }
    client.close();
  }
}

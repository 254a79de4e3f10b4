import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';

const CONNECTIONS = 32;
const TICK_MS = 10;

/** Creates that are sent at a fixed rate, whatever the responses are. */
export class SteadyCreates {
  /** The id and name of every animal that was acknowledged. */
  readonly acknowledged = new Map<number, string>();
  readonly failures: string[] = [];
  slowestMs = 0;
  readonly #baseUrl: string;
  readonly #clients: Client[];
  readonly #perSecond: number;
  #isRunning = false;
  #sending: Promise<void> = Promise.resolve();
  #sent = 0;

  constructor(baseUrl: string, key: string, perSecond: number) {
    this.#baseUrl = baseUrl;
    this.#perSecond = perSecond;
    this.#clients = Array.from({ length: CONNECTIONS }, () => new Client(key));
  }

  start(): void {
    this.#isRunning = true;
    this.#sending = this.#send();
  }

  /** Resolves when every create that was sent has its response. */
  async pause(): Promise<void> {
    this.#isRunning = false;
    await this.#sending;
  }

  async close(): Promise<void> {
    await this.pause();
    for (const client of this.#clients) client.close();
  }

  async #send(): Promise<void> {
    const startedMs = performance.now();
    const creates: Promise<void>[] = [];
    while (this.#isRunning) {
      const due = Math.floor(((performance.now() - startedMs) * this.#perSecond) / 1_000);
      while (creates.length < due) creates.push(this.#create());
      await sleep(TICK_MS);
    }
    await Promise.all(creates);
  }

  async #create(): Promise<void> {
    const name = `steady-${(this.#sent += 1)}`;
    const client = this.#clients[this.#sent % CONNECTIONS];
    const sentMs = performance.now();
    try {
      const response = await client?.create(this.#baseUrl, name, { isClaimed: false });
      this.slowestMs = Math.max(this.slowestMs, performance.now() - sentMs);
      if (response?.status !== 201) throw new Error(`status ${response?.status}`);
      this.acknowledged.set((JSON.parse(response.body) as { id: number }).id, name);
    } catch (error) {
      this.failures.push(`${name}: ${String(error)}`);
    }
  }
}

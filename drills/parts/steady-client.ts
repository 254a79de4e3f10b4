import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';

const PAUSE_MS = 100;

/** A client that sends a list and a create in turn until it is stopped, each on a new connection. */
export class SteadyClient {
  requests = 0;
  slowestMs = 0;
  readonly failures: string[] = [];
  readonly #baseUrl: string;
  readonly #key: string;
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(baseUrl: string, key: string) {
    this.#baseUrl = baseUrl;
    this.#key = key;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const startedMs = performance.now();
      await this.#send(this.requests % 2 === 1);
      this.slowestMs = Math.max(this.slowestMs, Math.round(performance.now() - startedMs));
      this.requests += 1;
      await sleep(PAUSE_MS);
    }
  }

  async #send(isCreate: boolean): Promise<void> {
    const client = new Client(this.#key);
    try {
      const { status } = isCreate
        ? await client.create(this.#baseUrl, `animal-${this.requests}`, { isClaimed: false })
        : await client.get(`${this.#baseUrl}/pets`);
      if (status !== (isCreate ? 201 : 200)) this.failures.push(`${status}`);
    } catch (error) {
      this.failures.push(String(error));
    } finally {
      client.close();
    }
  }
}

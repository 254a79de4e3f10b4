import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';
import type { Random } from '../random.ts';

const CREATORS = 6;
const READERS = 4;
const PAUSE_MS = 5;

export interface Created {
  id: number;
  name: string;
  isClaimed: boolean;
}

/** Clients behind a balancer, which sends each request to one of the processes that it knows. */
export class BalancedLoad {
  readonly created: Created[] = [];
  readonly failures: string[] = [];
  requests = 0;
  slowestMs = 0;
  readonly #key: string;
  readonly #random: Random;
  /** The number of requests without a response, for each process. */
  readonly #inFlight = new Map<string, number>();
  readonly #members = new Set<string>();
  #sending: Promise<void[]> = Promise.resolve([]);
  #isOver = false;
  #count = 0;

  constructor(key: string, random: Random) {
    this.#key = key;
    this.#random = random;
  }

  add(baseUrl: string): void {
    this.#members.add(baseUrl);
  }

  /** Sends no more requests to the process, and resolves when it has responded to all of them. */
  async remove(baseUrl: string): Promise<void> {
    this.#members.delete(baseUrl);
    while ((this.#inFlight.get(baseUrl) ?? 0) > 0) await sleep(PAUSE_MS);
  }

  start(): void {
    const clients = Array.from({ length: CREATORS + READERS }, (_, index) =>
      this.#repeat(index < CREATORS),
    );
    this.#sending = Promise.all(clients);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
  }

  async #repeat(isCreator: boolean): Promise<void> {
    const client = new Client(this.#key);
    while (!this.#isOver) {
      const baseUrl = this.#random.pick([...this.#members]);
      this.#inFlight.set(baseUrl, (this.#inFlight.get(baseUrl) ?? 0) + 1);
      const sentMs = performance.now();
      try {
        await (isCreator ? this.#create(client, baseUrl) : this.#read(client, baseUrl));
      } catch (error) {
        this.failures.push(`a request to ${baseUrl} failed: ${String(error)}`);
      }
      this.#inFlight.set(baseUrl, (this.#inFlight.get(baseUrl) ?? 0) - 1);
      this.requests += 1;
      this.slowestMs = Math.max(this.slowestMs, performance.now() - sentMs);
      await sleep(PAUSE_MS);
    }
    client.close();
  }

  async #create(client: Client, baseUrl: string): Promise<void> {
    const name = `animal-${(this.#count += 1)}`;
    const isClaimed = this.#random.isOneIn(2);
    const { status, body } = await client.create(baseUrl, name, { isClaimed });
    if (status !== 201) throw new Error(`status ${status}: ${body}`);
    this.created.push({ id: (JSON.parse(body) as { id: number }).id, name, isClaimed });
  }

  /** Lists some animals, or gets the last one that was created. */
  async #read(client: Client, baseUrl: string): Promise<void> {
    const id = this.#random.isOneIn(2) ? this.created.at(-1)?.id : undefined;
    const path = id === undefined ? '/pets?limit=5' : `/pets/${id}`;
    const { status, body } = await client.get(baseUrl + path);
    if (status !== 200) throw new Error(`status ${status}: ${body}`);
  }
}

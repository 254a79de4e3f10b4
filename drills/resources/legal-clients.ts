import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../harness/client.ts';
import { Load } from '../../harness/load.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';
import { startBareServer } from './bare-server.ts';

const CLIENTS = 8;
const PAUSE_MS = 10;
const CREATE_EVERY = 4;
/** Fewer responses have no 99th percentile. */
const RESPONSES_MIN = 200;

/** The 99th percentiles of one time, or 0 if it was too short, and how many creates were refused with 503. */
export interface Moment {
  serviceMs: number;
  bareMs: number;
  refused: number;
}

/** Clients that create, list and get, and as many that list from a bare server at the same time. */
export class LegalClients {
  readonly #load: Load;
  readonly #service: ServiceProcess;
  readonly #bareMs: number[] = [];
  #bare: Promise<unknown> = Promise.resolve();
  #isOver = false;

  private constructor(service: ServiceProcess) {
    const { key, baseUrl } = service;
    this.#service = service;
    this.#load = new Load({
      key,
      baseUrl: () => baseUrl,
      createEvery: CREATE_EVERY,
      pauseMs: PAUSE_MS,
      isTimed: true,
      // Counted for each attack: a create that is refused is repeated.
      mayRefuse: true,
    });
  }

  static async start(service: ServiceProcess, stack: AsyncDisposableStack): Promise<LegalClients> {
    const clients = new LegalClients(service);
    const url = `http://127.0.0.1:${await startBareServer(stack)}/`;
    clients.#load.start(CLIENTS);
    clients.#bare = Promise.all(Array.from({ length: CLIENTS }, () => clients.#list(url)));
    return clients;
  }

  get violations(): string[] {
    return this.#load.violations;
  }

  /** The times of the responses while `work` runs. */
  async during(work: () => Promise<unknown>): Promise<Moment> {
    const [from, bareFrom] = [this.#load.timesMs.length, this.#bareMs.length];
    const refusedBefore = this.#load.counts.refused;
    await work();
    return {
      serviceMs: p99Of(this.#load.timesMs.slice(from)),
      bareMs: p99Of(this.#bareMs.slice(bareFrom)),
      refused: this.#load.counts.refused - refusedBefore,
    };
  }

  /** Compares what is stored, and returns how many requests were sent. */
  async stop(): Promise<number> {
    this.#isOver = true;
    await this.#bare;
    await this.#load.stop();
    await this.#load.compare(this.#service.baseUrl);
    return this.#load.counts.requests;
  }

  async #list(url: string): Promise<void> {
    const client = new Client('');
    while (!this.#isOver) {
      const sentMs = performance.now();
      await client.get(url);
      this.#bareMs.push(performance.now() - sentMs);
      await sleep(PAUSE_MS);
    }
    client.close();
  }
}

function p99Of(times: readonly number[]): number {
  if (times.length < RESPONSES_MIN) return 0;
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
}

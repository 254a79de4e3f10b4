import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../harness/client.ts';
import { Load, type Sent } from '../../harness/load.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/until.ts';
import { startBareServer } from './bare-server.ts';

const CLIENTS = 8;
const PAUSE_MS = 20;
const CREATE_EVERY = 4;
/** Fewer responses have no 99th percentile. */
const RESPONSES_MIN = 100;

/** The 99th percentiles of one time, or 0 if it was too short, and how many creates were refused with 503. */
export interface Moment {
  serviceMs: number;
  bareMs: number;
  /** The slowest response of the bare server: the machine stood still for so long. */
  bareSlowestMs: number;
  refused: number;
}

/** Clients that create, list and get, and as many that list from a bare server at the same time. */
export class LegalClients {
  readonly #load: Load;
  readonly #service: ServiceProcess;
  readonly #bareSent: Sent[] = [];
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

  /** What came of the requests that were sent while `work` ran. */
  async during(work: () => Promise<unknown>): Promise<Moment> {
    const fromMs = performance.now();
    await work();
    const toMs = performance.now();
    const isSentThen = ({ startMs }: Sent) => startMs >= fromMs && startMs < toMs;
    const [sent, bare] = [this.#load.sent.filter(isSentThen), this.#bareSent.filter(isSentThen)];
    await until('each request has ended', () => [...sent, ...bare].every(hasEnded));
    return {
      serviceMs: p99Of(sent),
      bareMs: p99Of(bare),
      bareSlowestMs: bare.reduce((most, { tookMs }) => Math.max(most, tookMs), 0),
      refused: sent.filter(({ isRefused }) => isRefused).length,
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
      const sent = { startMs: performance.now(), tookMs: Infinity, isRefused: false };
      this.#bareSent.push(sent);
      await client.get(url);
      sent.tookMs = performance.now() - sent.startMs;
      await sleep(PAUSE_MS);
    }
    client.close();
  }
}

const hasEnded = ({ tookMs }: Sent) => tookMs < Infinity;

function p99Of(sent: readonly Sent[]): number {
  if (sent.length < RESPONSES_MIN) return 0;
  const times = sent.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  return times[Math.floor(times.length * 0.99)] ?? 0;
}

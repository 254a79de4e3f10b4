import type { Proxy } from '../../test/support/proxies.ts';
import { Reader } from '../fleet/reader.ts';
import { Http2Client, newHttp1Client, type ProxyClient } from './proxy-client.ts';

const HTTP1_CLIENTS = 8;
const HTTP2_CLIENTS = 2;
/** How many requests an HTTP/2 client sends at the same time. */
const HTTP2_STREAMS = 4;
/** Every fourth request is a create. */
const CREATE_EVERY = 4;
const LOAD_MS_MAX = 600_000;

export interface ProxyLoadOptions {
  requests: number;
  key: string;
  /** The load continues after its last request until this is true. */
  isEnough: () => boolean;
  onProgress: (requests: number) => void;
}

/** Half of the requests are HTTP/1.1, half are HTTP/2. No client sends a request again. */
export class ProxyLoad {
  readonly failures: string[] = [];
  requests = 0;
  slowestMs = 0;
  readonly #acknowledged: string[] = [];
  readonly #proxy: Proxy;
  readonly #options: ProxyLoadOptions;
  readonly #untilMs = performance.now() + LOAD_MS_MAX;

  constructor(proxy: Proxy, options: ProxyLoadOptions) {
    this.#proxy = proxy;
    this.#options = options;
  }

  get acknowledged(): number {
    return this.#acknowledged.length;
  }

  get isOver(): boolean {
    const { requests, isEnough } = this.#options;
    return performance.now() > this.#untilMs || (this.requests >= requests && isEnough());
  }

  async run(): Promise<void> {
    const http1 = Array.from({ length: HTTP1_CLIENTS }, () => newHttp1Client(this.#proxy));
    const http2 = Array.from({ length: HTTP2_CLIENTS }, () => new Http2Client(this.#proxy));
    const senders: ProxyClient[] = [
      ...http1,
      ...http2.flatMap((client) => Array<ProxyClient>(HTTP2_STREAMS).fill(client)),
    ];
    await Promise.all(senders.map((client) => this.#send(client)));
    for (const client of [...http1, ...http2]) client.close();
  }

  /** Compares what was acknowledged with what is stored. */
  async check(baseUrl: string): Promise<string[]> {
    const reader = new Reader([baseUrl], this.#options.key);
    await reader.follow(() => true);
    const lost = this.#acknowledged.filter((name) => !reader.seen.has(name));
    return [...reader.violations, ...lost.map((name) => `${name} was acknowledged and is lost`)];
  }

  async #send(client: ProxyClient): Promise<void> {
    const authorization = `Bearer ${this.#options.key}`;
    while (!this.isOver) {
      this.requests += 1;
      const number = this.requests;
      const name = `animal-${number}`;
      const isCreate = number % CREATE_EVERY === 0;
      const startedMs = performance.now();
      try {
        const status = isCreate
          ? await client.send(
              'POST',
              { authorization, 'content-type': 'application/json', 'idempotency-key': name },
              JSON.stringify({ name, categoryId: 1 }),
            )
          : await client.send('GET', { authorization });
        if (status !== (isCreate ? 201 : 200)) throw new Error(String(status));
        if (isCreate) this.#acknowledged.push(name);
      } catch (error) {
        const kind = `${client instanceof Http2Client ? 'HTTP/2' : 'HTTP/1.1'} ${isCreate ? 'create' : 'list'}`;
        this.failures.push(`${kind} ${number} failed: ${String(error)}`);
      }
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
      this.#options.onProgress(this.requests);
    }
  }
}

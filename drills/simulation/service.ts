import { hashApiKey, newApiKey, newSecret, type ApiKey } from '../../src/domain/api-key.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { Store } from '../../src/domain/store.ts';
import { App } from '../../src/http/app.ts';
import { createAuthenticate } from '../../src/http/authenticate.ts';
import { KeyRing } from '../../src/http/key-ring.ts';
import { KeyUses } from '../../src/http/key-uses.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/message.ts';
import { ResponseCache } from '../../src/http/response-cache.ts';
import { openLog } from '../../src/ops/log.ts';
import { Metrics } from '../../src/ops/metrics.ts';
import { openSqliteStore } from '../../src/storage/sqlite/store.ts';
import type { Random } from '../../harness/random.ts';

export const BASE_URL = 'http://pets.example/v1';

/** What a simulated service is made of. */
export interface ServiceParts {
  file: string;
  clock: Clock;
  /** Called when the store has failed, so that the process ends. */
  onFatal: () => void;
}

/** The service as `src/service.ts` joins it, without its sockets. */
export class SimulatedService {
  readonly #app: App;
  readonly #keys: KeyRing;
  readonly #keyUses: KeyUses;
  readonly #store: Store;

  private constructor({ clock }: ServiceParts, store: Store, keys: KeyRing) {
    this.#store = store;
    this.#keys = keys;
    this.#keyUses = new KeyUses(store, clock);
    let requests = 0;
    this.#app = new App({
      store,
      authenticate: createAuthenticate({ environment: 'production', keys, clock }),
      keyUses: this.#keyUses,
      countRequest: undefined,
      cors: undefined,
      pages: new Map(),
      cache: new ResponseCache(store),
      clock,
      baseUrl: BASE_URL,
      metrics: new Metrics([]),
      log: openLog('silent', { write: () => undefined }),
      newRequestId: () => `request-${(requests += 1)}`,
    });
  }

  static async open(parts: ServiceParts): Promise<SimulatedService> {
    const store = openSqliteStore(parts.file, { onFatal: parts.onFatal });
    const keys = new KeyRing(store, parts.clock);
    await keys.open();
    return new SimulatedService(parts, store, keys);
  }

  handle(request: HttpRequest): Promise<HttpResponse> {
    return this.#app.handle(request);
  }

  async close(): Promise<void> {
    await this.#keyUses.close();
    await this.#keys.close();
    await this.#store.close();
  }
}

/** A key that clients of the simulation use. */
export interface ClientKey {
  record: ApiKey;
  secret: string;
  /** From when on it must be refused, on the clock that never jumps. */
  refusedFromMs: number | undefined;
  /** Whether a revocation was sent, so that it may be refused. */
  isPerhapsRevoked: boolean;
}

export function newClientKey(random: Random, now: Date, expiresAt: Date | undefined): ClientKey {
  const randomBytes = (count: number) =>
    Uint8Array.from({ length: count }, () => random.integer(256));
  const secret = newSecret('production', randomBytes);
  const record = newApiKey({ secret, name: hashApiKey(secret), expiresAt, now, randomBytes });
  return { record, secret, refusedFromMs: undefined, isPerhapsRevoked: false };
}

export function newHttpRequest(
  key: ClientKey,
  target: string,
  options: { body?: string; headers?: Record<string, string> } = {},
): HttpRequest {
  const { body, headers } = options;
  return {
    method: body === undefined ? 'GET' : 'POST',
    target: `/v1${target}`,
    headers: { authorization: `Bearer ${key.secret}`, ...headers },
    readBody: async () => Buffer.from(body ?? ''),
  };
}

export function headerOf(
  { headers, moreHeaders = [] }: HttpResponse,
  name: string,
): string | undefined {
  const all = [headers, ...moreHeaders].flat();
  const at = all.findIndex((each, index) => index % 2 === 0 && each === name);
  return at === -1 ? undefined : all[at + 1];
}

import type { Config } from '../config.ts';
import { respondWaiting } from '../http/health.ts';
import type { HttpServer } from '../http/wire/server.ts';
import { listen } from '../listen.ts';
import type { Runtime } from '../service.ts';

/** When the service takes over the port, clients are disconnected after this time at the latest. */
const GRACE_MS = 1_000;

/** The port of the service while its database is away: `/livez` is 200, and everything else 503. */
export class WaitingPort {
  readonly #config: Config;
  readonly #newRequestId: Runtime['newRequestId'];
  #server: HttpServer | undefined;

  constructor(config: Config, { newRequestId }: Runtime) {
    this.#config = config;
    this.#newRequestId = newRequestId;
  }

  async open(): Promise<void> {
    const { host, port } = this.#config;
    const newRequestId = this.#newRequestId;
    this.#server ??= await listen('', {
      createHandler: () => ({ handle: async (request) => respondWaiting(request, newRequestId) }),
      host,
      port,
      newRequestId,
    });
  }

  /** Resolves when others can listen on the port. Its clients are disconnected soon after. */
  async release(): Promise<void> {
    await this.#server?.stopListening();
    void this.close();
  }

  async close(): Promise<void> {
    await this.#server?.close(GRACE_MS);
  }
}

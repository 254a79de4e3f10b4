import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { send, type Sent, type TestService } from '../../harness/test-service.ts';
import { PetStore, type PetStoreOptions } from '../src/index.ts';

/** What happens to one request instead of its response. */
export type Fault =
  /** The connection breaks before the service gets the request. */
  | 'lose_request'
  /** The service carries the request out, but the connection breaks before the response. */
  | 'lose_response'
  /** The service carries it out, but the connection breaks in the middle of the response. */
  | 'cut_short'
  /** The response is complete for HTTP, but its JSON ends in the middle. */
  | 'half_json'
  /** There is never a response. */
  | 'silence'
  /** The service does not get the request. */
  | { status: number; code?: string; headers?: Record<string, string>; body?: string };

export interface SeenRequest {
  /** Counts from 1. */
  number: number;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Passes requests on to the real service, unless it is told to do something else. */
export class Gateway {
  readonly requests: SeenRequest[] = [];
  fault: (request: SeenRequest) => Fault | undefined = () => undefined;
  readonly key: string;
  readonly #service: TestService;
  readonly #server = createServer((request, response) => void this.#pass(request, response));

  private constructor(service: TestService) {
    this.#service = service;
    this.key = service.key;
  }

  static async open(t: TestContext, service: TestService): Promise<Gateway> {
    const gateway = new Gateway(service);
    t.after(() => gateway.close());
    await once(gateway.#server.listen(0, '127.0.0.1'), 'listening');
    return gateway;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A client that waits hardly at all between two attempts. */
  client(options: Partial<PetStoreOptions> = {}): PetStore {
    const baseUrl = `${this.origin}/v1`;
    return new PetStore({ baseUrl, apiKey: this.key, backoffMs: 1, ...options });
  }

  failFirst(count: number, fault: Fault): void {
    this.fault = ({ number }) => (number <= count ? fault : undefined);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await text(request);
    const seen = { number: this.requests.length + 1, url, headers, body };
    this.requests.push(seen);
    const fault = this.fault(seen);
    if (fault === 'silence') return;
    if (fault === 'lose_request') return void response.destroy();
    if (typeof fault === 'object') {
      const { status, code = 'unavailable', headers: others } = fault;
      const error = JSON.stringify({ code, message: 'On purpose.', status });
      response.writeHead(status, { 'x-request-id': `request-${seen.number}`, ...others });
      return void response.end(fault.body ?? error);
    }
    const sent = { method, headers: headers as Sent['headers'], body };
    const reply = await send(new URL(url, this.#service.baseUrl).href, sent as Sent);
    if (fault === 'lose_response') return void response.destroy();
    const half = reply.text.slice(0, reply.text.length / 2);
    const length = Buffer.byteLength(fault === 'half_json' ? half : reply.text);
    response.writeHead(reply.status, { ...reply.headers, 'content-length': length });
    // The connection breaks after the half was sent, so that the client receives it.
    if (fault === 'cut_short') response.write(half, () => response.destroy());
    else response.end(fault === 'half_json' ? half : reply.text);
  }
}

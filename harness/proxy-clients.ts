import {
  connect,
  constants,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { Agent } from 'node:https';
import type { Proxy } from './proxies.ts';

const RESPONSE_MS_MAX = 30_000;

interface Received {
  status: number;
  text: string;
}

/** Sends each request once. */
export interface ProxyClient {
  send(method: 'GET' | 'POST', headers: Record<string, string>, body?: string): Promise<Received>;
  close(): void;
}

/** A client with one HTTP/1.1 connection that it keeps. */
export function newHttp1Client(proxy: Proxy): ProxyClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: proxy.certificate });
  return {
    async send(method, headers, body) {
      const signal = AbortSignal.timeout(RESPONSE_MS_MAX);
      return proxy.send('/v1/pets', body, { agent, method, headers, signal });
    },
    close: () => agent.destroy(),
  };
}

/** A client with one HTTP/2 connection for all requests that it sends at the same time. */
export class Http2Client implements ProxyClient {
  readonly #proxy: Proxy;
  #session: ClientHttp2Session | undefined;
  #sessions = 0;

  constructor(proxy: Proxy) {
    this.#proxy = proxy;
  }

  /** How many connections were opened. */
  get sessions(): number {
    return this.#sessions;
  }

  async send(
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body?: string,
  ): Promise<Received> {
    for (;;) {
      try {
        return await this.#sendOnce({ ...headers, ':method': method, ':path': '/v1/pets' }, body);
      } catch (error) {
        // The proxy has closed the connection before it read the request (RFC 9113, section 8.7).
        if (!isNotProcessed(error)) throw error;
      }
    }
  }

  close(): void {
    this.#session?.destroy();
  }

  #sendOnce(headers: OutgoingHttpHeaders, body: string | undefined): Promise<Received> {
    return new Promise((resolve, reject) => {
      let status = 0;
      let text = '';
      const stream = this.#open().request(headers);
      stream.on('response', (received: IncomingHttpHeaders) => {
        status = Number(received[':status']);
      });
      stream.setTimeout(RESPONSE_MS_MAX, () => stream.close(constants.NGHTTP2_CANCEL));
      stream.on('error', reject);
      stream.on('close', () =>
        stream.rstCode === constants.NGHTTP2_NO_ERROR && status !== 0
          ? resolve({ status, text })
          : reject(new Http2Failure(stream.rstCode)),
      );
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      stream.end(body);
    });
  }

  #open(): ClientHttp2Session {
    const kept = this.#session;
    if (kept !== undefined && !kept.closed && !kept.destroyed) return kept;
    const session = connect(this.#proxy.url, { ca: this.#proxy.certificate });
    // Every stream gets the error too.
    session.on('error', () => undefined);
    session.on('goaway', () => {
      if (this.#session === session) this.#session = undefined;
    });
    this.#session = session;
    this.#sessions += 1;
    return session;
  }
}

class Http2Failure extends Error {
  readonly rstCode: number | undefined;

  constructor(rstCode: number | undefined) {
    super(`the stream ended with code ${rstCode} and without a response`);
    this.rstCode = rstCode;
  }
}

function isNotProcessed(error: unknown): boolean {
  if (error instanceof Http2Failure) return error.rstCode === constants.NGHTTP2_REFUSED_STREAM;
  const { code, message } = error as NodeJS.ErrnoException;
  return (
    code === 'ERR_HTTP2_GOAWAY_SESSION' ||
    code === 'ERR_HTTP2_INVALID_SESSION' ||
    (code === 'ERR_HTTP2_STREAM_ERROR' && message.includes('NGHTTP2_REFUSED_STREAM'))
  );
}

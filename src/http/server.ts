import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { explainClientFault, HTTP_VERSION_FAULT, TARGET_LENGTH_MAX } from './client-error.ts';
import type { ClientFault, Explained } from './client-error.ts';
import { connectionOf, type Connection } from './connection.ts';
import { Connections } from './connections.ts';
import { errorResponse } from './error-response.ts';
import { createServer, requestIdOf, type Handler, type HttpResponse } from './message.ts';
import { readBody } from './body.ts';

const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 200;
const CONNECTIONS_MAX = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** How long an idle connection may still send a request after the service was told to stop. */
const IDLE_GRACE_MS = 1_000;
const TIMEOUT_SWEEP_MS = 1_000;

export interface HttpServer {
  port: number;
  /** Stops accepting, and nothing else: connections are served as before. */
  stopListening(): void;
  /** Stops accepting, finishes the requests in flight, and closes what is left after the grace period. */
  close(graceMs: number): Promise<void>;
}

export interface ServerParts {
  /** Called once, with the port that was bound, before the first request is read. */
  createHandler: (port: number) => Handler;
  host: string;
  port: number;
  newRequestId: () => string;
  /** After how long without a byte in either direction a connection is closed. */
  quietMsMax?: number;
}

/** Listens for requests. Everything about sockets is here and in connection.ts, and nothing about animals. */
export async function openServer(parts: ServerParts): Promise<HttpServer> {
  const listener = new HttpListener(parts);
  const port = await listener.open(parts.host, parts.port);
  return {
    port,
    stopListening: () => listener.stopListening(),
    close: (graceMs) => listener.close(graceMs),
  };
}

class HttpListener {
  readonly #server: Server;
  readonly #createHandler: (port: number) => Handler;
  readonly #newRequestId: () => string;
  readonly #connections: Connections;
  #handler: Handler | undefined;
  #isClosing = false;
  readonly #closed = Promise.withResolvers<void>();

  constructor({ createHandler, newRequestId, quietMsMax }: ServerParts) {
    this.#createHandler = createHandler;
    this.#newRequestId = newRequestId;
    this.#connections = new Connections(quietMsMax);
    this.#server = createServer({
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      // One timer per connection, restarted by every request, costs more than a check of all every 5 seconds.
      keepAliveTimeout: 0,
      connectionsCheckingInterval: TIMEOUT_SWEEP_MS,
      // A repeated header is then visible. Otherwise all but the first would be dropped.
      joinDuplicateHeaders: true,
      // The service refuses this itself, because Node.js would respond without an Error body.
      requireHostHeader: false,
      // A request without a body then skips the events of a stream.
      optimizeEmptyRequests: true,
    });
    // A client that closes its sending side after a request still waits for the response.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.maxConnections = CONNECTIONS_MAX;
    // No limit here: the parser would silently drop the rest. headFault refuses too many headers.
    this.#server.maxHeadersCount = 0;
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket));
    this.#server.on('request', (request, response) => this.#accept(request, response, false));
    this.#server.on('checkContinue', (request, response) => this.#accept(request, response, true));
    this.#server.on('checkExpectation', ({ socket }, response) => {
      const message = 'The only supported Expect is 100-continue.';
      const connection = connectionOf(socket);
      connection?.accept(response, () =>
        this.#refuseHead(connection, response, ['expectation_failed', message]),
      );
    });
    this.#server.on('connect', (_request, socket) => {
      // From here on node:http no longer listens, and a reset by the client would end the process.
      socket.on('error', () => socket.destroy());
      const message = 'CONNECT is for proxies, and this service is not one.';
      connectionOf(socket)?.refuse('not_implemented', message, this.#newRequestId());
    });
    this.#server.on('clientError', (fault: ClientFault, socket) =>
      this.#refuseFault(fault, socket),
    );
  }

  open(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        const { port: bound } = this.#server.address() as AddressInfo;
        this.#handler = this.#createHandler(bound);
        resolve(bound);
      });
    });
  }

  stopListening(): void {
    if (!this.#server.listening) return;
    // Only the listener: http's own close would also destroy idle connections, on which a client may be
    // sending its next request at this moment. That request gets its response, with Connection: close.
    NetServer.prototype.close.call(this.#server, () => this.#closed.resolve());
  }

  async close(graceMs: number): Promise<void> {
    this.stopListening();
    this.#isClosing = true;
    const idle = setTimeout(() => this.#server.closeIdleConnections(), IDLE_GRACE_MS);
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await this.#closed.promise;
    clearTimeout(idle);
    clearTimeout(cut);
    this.#connections.close();
  }

  #accept(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const connection = connectionOf(request.socket);
    connection?.accept(response, () => {
      const fault = headFault(request);
      if (fault !== undefined) {
        this.#refuseHead(connection, response, fault);
        return;
      }
      const responding = this.#handler?.handle({
        method: request.method ?? '',
        target: request.url ?? '',
        headers: request.headers as Record<string, string | undefined>,
        readBody: (bytesMax) =>
          connection.bodyFault === undefined
            ? readBody(request, response, { bytesMax, expectsContinue })
            : Promise.reject(connection.bodyFault),
      });
      void responding?.then((made) => this.#send(connection, response, made));
    });
  }

  #refuseHead(connection: Connection, response: ServerResponse, fault: Explained): void {
    response.shouldKeepAlive = false;
    const headers = response.req.headers as Record<string, string | undefined>;
    const requestId = requestIdOf(headers, this.#newRequestId);
    this.#send(connection, response, errorResponse(...fault, ['X-Request-Id', requestId]));
  }

  #send(
    connection: Connection,
    response: ServerResponse,
    { status, headers, body, encoding }: HttpResponse,
  ): void {
    // The connection may have gone while the response was made.
    if (!response.req.socket.writable) return;
    if (this.#isClosing && !connection.hasHeldRequests) response.shouldKeepAlive = false;
    connection.sending(response);
    response.writeHead(status, headers as string[]);
    response.end(body, encoding ?? 'utf8');
    connection.sent(response);
  }

  #refuseFault(fault: ClientFault, socket: Duplex): void {
    const explained = explainClientFault(fault);
    const connection = connectionOf(socket);
    if (explained === undefined || connection === undefined) {
      // The client is gone.
      socket.destroy();
    } else if (connection.isReceivingBody) {
      connection.refuseBody(...explained);
    } else {
      connection.refuse(...explained, this.#newRequestId());
    }
  }
}

/** What the parser accepts but HTTP/1.1 forbids, and what exceeds a limit of the service. */
function headFault(request: IncomingMessage): Explained | undefined {
  const { headers, httpVersion, url = '' } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return HTTP_VERSION_FAULT;
  if (url.length > TARGET_LENGTH_MAX) {
    return ['uri_too_long', `The request target is over ${TARGET_LENGTH_MAX} characters.`];
  }
  if (request.rawHeaders.length > 2 * HEADERS_MAX) {
    return ['headers_too_large', `The request has over ${HEADERS_MAX} headers.`];
  }
  const { host } = headers;
  const isHostNeeded = httpVersion === '1.1';
  if ((host ?? '') === '' ? isHostNeeded : !/^[^\s,/?#@\\]+$/.test(host ?? '')) {
    return ['malformed_request', 'A request must have exactly one valid Host header.'];
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0') {
    return ['malformed_request', 'HTTP/1.0 has no Transfer-Encoding; send a Content-Length.'];
  }
  if (coding !== undefined && !/(?:^|,)\s*chunked$/i.test(coding)) {
    return ['malformed_request', 'The last transfer coding must be chunked.'];
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return ['not_implemented', 'The only supported transfer coding is chunked.'];
  }
  return undefined;
}

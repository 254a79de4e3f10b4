import { readFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { Refusal, type ErrorCode } from '../domain/errors.ts';
import { counter, gauge, type Figure, type Measured } from '../ops/metrics.ts';
import { ReceivedRequest } from './body.ts';
import { Connections } from './connection.ts';
import {
  errorResponse,
  explainClientFault,
  HTTP_VERSION_REFUSAL,
  TARGET_LENGTH_MAX,
  type ClientFault,
} from './error-response.ts';
import { createServer, type Handler, type HttpResponse } from './message.ts';

const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 200;
const CONNECTIONS_MAX = 10_000;
/** Descriptors that connections leave for files, the database and the admin port. */
const DESCRIPTORS_RESERVED = 128;
const DROP_INTERVAL_MS = 60_000;
/** How long a client may take for the head of a request and for all of it, and how often that is checked. */
export const CLIENT_TIMEOUTS = { headersMs: 10_000, requestMs: 15_000, sweepMs: 1_000 };
/**
 * How long an idle connection may still send a request after the service was told to stop. Those that become idle
 * later are closed at the next multiple of this time.
 */
const IDLE_GRACE_MS = 1_000;
/** The longest that a service which stops accepts connections: under constant load there is always another one. */
const ACCEPT_WAITING_MS_MAX = 1_000;

/** A name or an address, and perhaps a port. */
const HOST = /^(?:\[[\da-f:.]+\]|[^\s,/?#@\\:[\]]+)(?::\d*)?$/i;

const EXPECTATION_REFUSAL = new Refusal(
  'expectation_failed',
  'The only supported Expect is 100-continue.',
);
const CONNECT_REFUSAL = new Refusal(
  'not_implemented',
  'CONNECT is for proxies, and this service is not one.',
);

export interface ServerParts {
  /** Called once, with the port that was bound, before the first request is read. */
  createHandler: (port: number) => Handler;
  host: string;
  port: number;
  newRequestId: () => string;
  /** Called for each refusal of bytes that never became a request, with the address of the client. */
  onRefusal?: (code: ErrorCode, requestId: string, address: string | undefined) => void;
  /** Called when connections are refused because there are too many, at most once per minute. */
  onDrop?: (connectionsMax: number) => void;
  timeouts?: typeof CLIENT_TIMEOUTS | undefined;
  /** After how long without a byte in either direction a connection is closed. */
  quietMsMax?: number;
}

/** Listens for requests. Everything about sockets is here and in connection.ts, and nothing about animals. */
export async function openServer(parts: ServerParts): Promise<HttpServer> {
  const server = new HttpServer(parts);
  await server.open();
  return server;
}

export class HttpServer implements Measured {
  readonly #parts: ServerParts;
  readonly #server: Server<typeof ReceivedRequest>;
  readonly #connections: Connections;
  readonly #closed = Promise.withResolvers<void>();
  #accepted = 0;
  #dropped = 0;
  port = 0;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#connections = new Connections(parts.quietMsMax);
    const { headersMs, requestMs, sweepMs } = parts.timeouts ?? CLIENT_TIMEOUTS;
    this.#server = createServer({
      IncomingMessage: ReceivedRequest,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      // connection.ts has one timeout for all that a client does, which costs less.
      keepAliveTimeout: 0,
      connectionsCheckingInterval: sweepMs,
      // A repeated header is then visible. Otherwise all but the first would be dropped.
      joinDuplicateHeaders: true,
      // The service refuses this itself, because Node.js would respond without an Error body.
      requireHostHeader: false,
      // A request without a body then skips the events of a stream.
      optimizeEmptyRequests: true,
    });
    // A client that closes its sending side after a request still waits for the response.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.maxConnections = findConnectionsMax();
    // The parser silently drops what exceeds this, and headFault refuses a request that has one too many.
    this.#server.maxHeadersCount = HEADERS_MAX + 1;
  }

  open(): Promise<void> {
    const { host, port, createHandler } = this.#parts;
    return new Promise((resolve, reject) => {
      // A later error is a connection that could not be accepted, and the server continues.
      this.#server.on('error', reject);
      this.#server.listen(port, host, () => {
        this.port = (this.#server.address() as AddressInfo).port;
        this.#serve(createHandler(this.port));
        resolve();
      });
    });
  }

  figures(): Figure[] {
    const help = 'Connections closed at once because there were too many.';
    return [
      gauge('petstore_connections', 'Open connections.', this.#connections.bySocket.size),
      counter('petstore_connections_refused_total', help, this.#dropped),
    ];
  }

  #serve(handler: Handler): void {
    this.#server.on('drop', () => (this.#dropped += 1));
    this.#reportDrops();
    this.#server.on('connection', (socket: Socket) => {
      this.#accepted += 1;
      this.#connections.add(socket);
    });
    this.#server.on('request', (request, response) => this.#accept(handler, request, response));
    this.#server.on('checkContinue', (request, response) =>
      this.#accept(handler, request, response, { expectsContinue: true }),
    );
    this.#server.on('checkExpectation', (request, response) =>
      this.#accept(handler, request, response, { fault: EXPECTATION_REFUSAL }),
    );
    this.#server.on('connect', (_request, socket) => {
      // From here on node:http no longer listens, and a reset by the client would end the process.
      socket.on('error', () => socket.destroy());
      this.#refuse(socket, CONNECT_REFUSAL);
    });
    this.#server.on('clientError', (fault: ClientFault, socket) =>
      this.#refuse(socket, explainClientFault(fault)),
    );
  }

  #reportDrops(): void {
    this.#server.once('drop', () => {
      this.#parts.onDrop?.(this.#server.maxConnections);
      setTimeout(() => this.#reportDrops(), DROP_INTERVAL_MS).unref();
    });
  }

  /** Stops accepting connections. Those that are open are served as before. */
  async stopListening(): Promise<void> {
    await this.#acceptWaiting();
    if (!this.#server.listening) return;
    // Only the listener: http's own close would also destroy idle connections, on which a client may be
    // sending its next request at this moment. That request gets its response, with Connection: close.
    NetServer.prototype.close.call(this.#server, () => this.#closed.resolve());
  }

  /** Stops accepting, finishes the requests in flight, and closes what is left after the grace period. */
  async close(graceMs: number): Promise<void> {
    await this.stopListening();
    this.#connections.isClosing = true;
    const idle = setInterval(() => this.#server.closeIdleConnections(), IDLE_GRACE_MS);
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await this.#closed.promise;
    clearInterval(idle);
    clearTimeout(cut);
  }

  /** Accepts the connections that wait for this process: closing the listener would reset them. */
  async #acceptWaiting(): Promise<void> {
    const untilMs = performance.now() + ACCEPT_WAITING_MS_MAX;
    while (performance.now() < untilMs) {
      const acceptedBefore = this.#accepted;
      // The first may come in this turn of the event loop, before the sockets are polled. The next turn takes
      // at least one connection if any waits.
      await turn();
      await turn();
      if (this.#accepted === acceptedBefore) return;
    }
  }

  #accept(
    handler: Handler,
    request: ReceivedRequest,
    response: ServerResponse<ReceivedRequest>,
    { expectsContinue = false, fault = headFault(request) } = {},
  ): void {
    const headers = request.headers as Record<string, string | undefined>;
    // The parser drops the bytes behind an offer to upgrade, so nothing that follows can be trusted.
    if (fault !== undefined || headers['upgrade'] !== undefined) response.shouldKeepAlive = false;
    const connection = this.#connections.bySocket.get(request.socket);
    const address = request.socket.remoteAddress;
    connection?.accept(response, () => {
      const readBody = () => {
        if (expectsContinue && request.body?.isToBeReceived) response.writeContinue();
        return request.body?.read() ?? Promise.resolve(Buffer.alloc(0));
      };
      const { method = '', url = '' } = request;
      return handler.handle({ method, target: url, address, headers, fault, readBody });
    });
  }

  /** Refuses bytes that never became a request. Without a refusal, the client is gone. */
  #refuse(socket: Duplex, refusal: Refusal | undefined): void {
    const connection = this.#connections.bySocket.get(socket);
    const { remoteAddress } = socket as Socket;
    if (refusal === undefined) socket.destroy();
    else connection?.refuse(refusal, () => this.#errorResponse(refusal, remoteAddress));
  }

  #errorResponse({ code, message }: Refusal, address: string | undefined): HttpResponse {
    const requestId = this.#parts.newRequestId();
    this.#parts.onRefusal?.(code, requestId, address);
    return errorResponse(code, message, ['X-Request-Id', requestId]);
  }
}

/**
 * Connections beyond this are closed at once, and counted. Without descriptors the system would do the same unseen,
 * and the admin port would have none either. Only Linux tells how many there are.
 */
function findConnectionsMax(): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(readLimits())?.[1] ?? Infinity);
  return Math.min(CONNECTIONS_MAX, Math.max(1, descriptors - DESCRIPTORS_RESERVED));
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // The file does not exist elsewhere, and the permission model of Node.js may forbid it.
    return '';
  }
}

/** What the parser accepts but HTTP/1.1 forbids, and what exceeds a limit of the service. */
function headFault(request: ReceivedRequest): Refusal | undefined {
  const { headers, httpVersion, url = '' } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return HTTP_VERSION_REFUSAL;
  if (url.length > TARGET_LENGTH_MAX) {
    return new Refusal(
      'uri_too_long',
      `The request target is over ${TARGET_LENGTH_MAX} characters.`,
    );
  }
  if (request.rawHeaders.length > 2 * HEADERS_MAX) {
    return new Refusal('headers_too_large', `The request has over ${HEADERS_MAX} headers.`);
  }
  const { host } = headers;
  const isHostNeeded = httpVersion === '1.1';
  if ((host ?? '') === '' ? isHostNeeded : !HOST.test(host ?? '')) {
    return new Refusal('malformed_request', 'A request must have exactly one valid Host header.');
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0') {
    return new Refusal(
      'malformed_request',
      'HTTP/1.0 has no Transfer-Encoding; send a Content-Length.',
    );
  }
  if (coding !== undefined && !/(?:^|,)\s*chunked$/i.test(coding)) {
    return new Refusal('malformed_request', 'The last transfer coding must be chunked.');
  }
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return new Refusal('not_implemented', 'The only supported transfer coding is chunked.');
  }
  return undefined;
}

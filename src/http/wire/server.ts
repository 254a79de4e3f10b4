import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ErrorCode } from '../../domain/errors.ts';
import { counter, type Figure, type Measured } from '../../ops/metrics.ts';
import { findFilesMax } from '../../ops/process-figures.ts';
import { errorResponse, FAILED } from '../error-response.ts';
import type { Handler } from '../message.ts';
import type { Responder } from './connection.ts';
import { Connections, type ClosedForRoom } from './connections.ts';
import {
  explainClientFault,
  HEADER_BYTES_MAX,
  headFault,
  HEADERS_MAX,
  TUNNEL_REFUSAL,
} from './head.ts';
import { closeListener, createNodeServer, listenTo, type NodeServer } from './node-http.ts';

const CONNECTIONS_MAX = 10_000;
/** Reserved for files, the database and the admin port. */
const FILES_RESERVED = 128;
/** After this long without a byte in either direction, a connection is closed. */
const QUIET_MS_MAX = 65_000;
const DROP_INTERVAL_MS = 60_000;
/**
 * How long a client may take for the head of a request and for all of it, how often that is checked, and how often
 * connections are swept. All clients whose time is over are refused in one turn of the event loop. Checks are frequent,
 * so that those who came within a second are not refused together.
 */
export const CLIENT_TIMEOUTS = {
  headersMs: 10_000,
  requestMs: 15_000,
  checkMs: 100,
  sweepMs: 1_000,
};
/** A service that stops accepts waiting connections for at most this long: under load there is always another one. */
const ACCEPT_WAITING_MS_MAX = 1_000;

export interface ServerParts {
  /** Called once, with the port that was bound, before the first request is read. */
  createHandler: (port: number) => Handler;
  host: string;
  port: number;
  /** Otherwise workers share the port. */
  isExclusive?: boolean;
  newRequestId: () => string;
  /** The headers of an error that the handler has not made. */
  helpLink?: (code: ErrorCode) => readonly string[];
  /** Called for each refusal of bytes that never became a request, with the address of the client. */
  onRefusal?: (code: ErrorCode, requestId: string, address: string | undefined) => void;
  /** Called for each response that could not be sent, because a header is invalid. */
  onInvalidResponse?: (error: unknown, requestId: string) => void;
  /** Called when connections are refused because there are too many, at most once per minute. */
  onDrop?: (connectionsMax: number) => void;
  /** Called at most once per minute. */
  onClosedForRoom?: (closed: ClosedForRoom) => void;
  timeouts?: typeof CLIENT_TIMEOUTS | undefined;
  quietMsMax?: number;
}

/** Listens for requests. Everything about sockets is in this folder, and nothing about animals. */
export function openServer(parts: ServerParts): Promise<HttpServer> {
  const { host, port, isExclusive: exclusive } = parts;
  const { headersMs, requestMs, checkMs } = parts.timeouts ?? CLIENT_TIMEOUTS;
  const server = createNodeServer(HEADERS_MAX, {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    // connections.ts has one timeout for everything that a client does.
    keepAliveTimeout: 0,
    // A repeated header is then visible. Otherwise all but the first would be dropped.
    joinDuplicateHeaders: true,
    // The service refuses this itself, because Node.js would respond without an Error body.
    requireHostHeader: false,
    // A request without a body then skips the events of a stream.
    optimizeEmptyRequests: true,
  });
  server.maxConnections = findConnectionsMax();
  return new Promise((resolve, reject) => {
    // A later error is a connection that could not be accepted, and the server continues.
    server.on('error', reject);
    server.listen({ port, host, exclusive }, () => {
      const bound = server.address() as AddressInfo;
      resolve(new HttpServer(server, { ...parts, port: bound.port }));
    });
  });
}

export class HttpServer implements Measured {
  readonly port: number;
  readonly #server: NodeServer;
  readonly #connections: Connections;
  readonly #sweeping: NodeJS.Timeout;
  readonly #closed = Promise.withResolvers<void>();
  #accepted = 0;
  #dropped = 0;

  constructor(server: NodeServer, parts: ServerParts) {
    const { port, timeouts = CLIENT_TIMEOUTS, quietMsMax = QUIET_MS_MAX, onDrop } = parts;
    this.port = port;
    this.#server = server;
    this.#connections = new Connections(newResponder(parts), {
      connectionsMax: server.maxConnections,
      quietMsMax,
      nowMs: () => performance.now(),
      onClosedForRoom: parts.onClosedForRoom,
    });
    // In a process that was busy, timers run before it reads the requests that have arrived meanwhile. The sweep comes
    // after them, so that it closes no connection as idle that has one.
    const sweepSoon = () => setImmediate(() => this.#connections.sweep());
    this.#sweeping = setInterval(sweepSoon, timeouts.sweepMs).unref();
    server.on('drop', () => (this.#dropped += 1));
    if (onDrop !== undefined) this.#reportDrops(onDrop);
    listenTo(server, {
      onConnection: (socket) => {
        this.#accepted += 1;
        this.#connections.add(socket);
      },
      onExchange: (exchange, socket) => {
        exchange.fault = headFault(exchange);
        this.#connections.find(socket)?.accept(exchange);
      },
      onTunnel: (socket) => this.#connections.find(socket)?.refuse(TUNNEL_REFUSAL),
      onFault: (fault, socket) => {
        const refusal = explainClientFault(fault);
        // Without a refusal, the client is gone.
        if (refusal === undefined) this.#connections.close({ socket });
        else this.#connections.find(socket)?.refuse(refusal);
      },
    });
  }

  figures(): Figure[] {
    const help = 'Connections closed at once because there were too many.';
    const dropped = counter('petstore_connections_refused_total', help, this.#dropped);
    return [...this.#connections.figures(), dropped];
  }

  #reportDrops(onDrop: NonNullable<ServerParts['onDrop']>): void {
    this.#server.once('drop', () => {
      onDrop(this.#server.maxConnections);
      setTimeout(() => this.#reportDrops(onDrop), DROP_INTERVAL_MS).unref();
    });
  }

  /** Stops accepting connections. Those that are open are served as before. */
  async stopListening(): Promise<void> {
    await this.#acceptWaiting();
    if (this.#server.listening) closeListener(this.#server, this.#closed.resolve);
  }

  /** Stops accepting, finishes the requests in flight, and closes what is left after the grace period. */
  async close(graceMs: number): Promise<void> {
    await this.stopListening();
    this.#connections.sweep();
    this.#connections.isClosing = true;
    // Until the next sweep, an idle connection may still send a request.
    this.#sweeping.refresh();
    // Not cleared: by then there is nothing left to destroy.
    setTimeout(() => this.#connections.destroyAll(), graceMs).unref();
    await this.#closed.promise;
    clearInterval(this.#sweeping);
  }

  /** Accepts the connections that wait for this process: closing the listener would reset them. */
  async #acceptWaiting(): Promise<void> {
    const untilMs = performance.now() + ACCEPT_WAITING_MS_MAX;
    while (performance.now() < untilMs) {
      const acceptedBefore = this.#accepted;
      // The first may come in this turn of the event loop, before the sockets are polled. The next turn takes
      // at least one connection if any waits.
      await nextTurn();
      await nextTurn();
      if (this.#accepted === acceptedBefore) return;
    }
  }
}

function newResponder(parts: ServerParts): Responder {
  const { createHandler, port, newRequestId, onRefusal, onInvalidResponse } = parts;
  const { helpLink = () => [] } = parts;
  const handler = createHandler(port);
  return {
    handle: (request) => handler.handle(request),
    bodyBytesMax: (target) => handler.bodyBytesMax?.(target),
    respondToRefusal({ code, message }, address) {
      const requestId = newRequestId();
      onRefusal?.(code, requestId, address);
      const moreHeaders = [['X-Request-Id', requestId], helpLink(code)];
      return { ...errorResponse(code, message), moreHeaders };
    },
    respondToInvalid({ requestId = newRequestId() }, error) {
      onInvalidResponse?.(error, requestId);
      // Without the link: the base URL may be what is invalid.
      const moreHeaders = [['X-Request-Id', requestId]];
      return { ...errorResponse('internal_error', FAILED), moreHeaders };
    },
  };
}

/**
 * Connections beyond this are closed at once, and counted. With no file left the system would do the same unseen, and
 * the admin port would have none either.
 */
function findConnectionsMax(): number {
  const files = findFilesMax() ?? Number.POSITIVE_INFINITY;
  return Math.min(CONNECTIONS_MAX, Math.max(1, files - FILES_RESERVED));
}

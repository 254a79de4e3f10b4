import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../domain/errors.ts';
import type { Handle } from './app.ts';
import { errorResponse, rawErrorResponse } from './error-response.ts';
import { explainClientFault, headFault, type ClientFault } from './client-fault.ts';
import type { HttpResponse } from './message.ts';
import { createServer } from './node-http.ts';
import { readBody } from './read-body.ts';
import { requestIdOf } from './request-id.ts';

const HEADER_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** A connection on which nothing has moved for this long is closed: it is idle, or its client reads no more. */
const QUIET_SECONDS_MAX = 65;
const LOOK_SECONDS = 5;
/** How long an idle connection may still bring a request after the service was told to end. */
const IDLE_GRACE_MS = 1_000;
const TIMEOUT_SWEEP_MS = 1_000;
/** After an error the rest of what the client sends is read and dropped for this long, so that the
 * answer is not lost in a connection reset. */
const LINGER_MS = 1_000;

export interface HttpServer {
  port: number;
  /** Stops accepting, answers what is in flight, and after the grace period cuts what still hangs. */
  close(graceMs: number): Promise<void>;
}

export interface ServerParts {
  /** Called once, with the port that was bound, before the first request is read. */
  createHandle: (port: number) => Handle;
  host: string;
  port: number;
  newRequestId: () => string;
}

/** Opens the door: everything about sockets is here, and nothing about animals. */
export async function openServer(parts: ServerParts): Promise<HttpServer> {
  const door = new Door(parts);
  const port = await door.open(parts.host, parts.port);
  return { port, close: (graceMs) => door.close(graceMs) };
}

/** A connection, with what we note on it. */
interface Connection extends Socket {
  /** Its latest response: a fault in the bytes that follow must not cut into it. */
  latestResponse?: ServerResponse;
  /** The bytes that had come and gone at the last look, and for how long they have been as many. */
  bytesMoved?: number;
  quietSeconds?: number;
}

class Door {
  readonly #server: Server;
  readonly #createHandle: (port: number) => Handle;
  readonly #newRequestId: () => string;
  readonly #connections = new Set<Connection>();
  readonly #look: NodeJS.Timeout;
  #handle: Handle | undefined;
  #isClosing = false;

  constructor({ createHandle, newRequestId }: ServerParts) {
    this.#createHandle = createHandle;
    this.#newRequestId = newRequestId;
    this.#server = createServer({
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      // A timer for every connection, moved with every request, costs more than a look at them now and then.
      keepAliveTimeout: 0,
      connectionsCheckingInterval: TIMEOUT_SWEEP_MS,
      // A repeated header is then visible as such, instead of all but the first being dropped.
      joinDuplicateHeaders: true,
      // Ours to refuse, because Node.js would answer without an Error body.
      requireHostHeader: false,
      // A request that announces no body is not made to end like a stream.
      optimizeEmptyRequests: true,
    });
    this.#look = setInterval(() => this.#closeQuiet(), LOOK_SECONDS * 1000).unref();
    this.#server.on('connection', (socket: Connection) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
    // Too many are refused by us: the parser would silently drop the rest.
    this.#server.maxHeadersCount = 0;

    this.#server.on('request', (request, response) => this.#answer(request, response));
    this.#server.on('checkContinue', (request, response) => this.#answer(request, response));
    this.#server.on('checkExpectation', (_request, response) => {
      const message = 'The only Expect that is met is 100-continue.';
      this.#refuseHead(response, 'expectation_failed', message);
    });
    this.#server.on('connect', (_request, socket) => {
      this.#refuse(socket, 'not_implemented', 'CONNECT is for proxies, and this is none.');
    });
    this.#server.on('clientError', (fault: ClientFault, socket) =>
      this.#answerFault(fault, socket),
    );
  }

  open(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        const { port: bound } = this.#server.address() as AddressInfo;
        this.#handle = this.#createHandle(bound);
        resolve(bound);
      });
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise<void>((resolve) => {
      // Only the listener: http's own close would also cut idle connections, on which a client may be
      // sending its next request at this very moment. That request is answered, with Connection: close.
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    const idle = setTimeout(() => this.#server.closeIdleConnections(), IDLE_GRACE_MS);
    const cut = setTimeout(() => this.#server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(idle);
    clearTimeout(cut);
    clearInterval(this.#look);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const connection: Connection = request.socket;
    connection.latestResponse = response;
    const fault = headFault(request);
    if (fault !== undefined) {
      this.#refuseHead(response, ...fault);
      return;
    }
    const answer = this.#handle?.({
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.headers as Record<string, string | undefined>,
      readBody: (bytesMax) => readBody(request, response, bytesMax),
    });
    if (answer instanceof Promise) void answer.then((later) => this.#send(response, later));
    else if (answer !== undefined) this.#send(response, answer);
  }

  #refuseHead(response: ServerResponse, code: ErrorCode, message: string): void {
    response.shouldKeepAlive = false;
    const headers = response.req.headers as Record<string, string | undefined>;
    const requestId = requestIdOf(headers, this.#newRequestId);
    this.#send(response, errorResponse(code, message, ['X-Request-Id', requestId]));
  }

  #send(response: ServerResponse, { status, headers, body, encoding }: HttpResponse): void {
    // The connection may have been refused, or gone, while the answer was made.
    if (response.headersSent || !response.req.socket.writable) return;
    if (this.#isClosing) response.shouldKeepAlive = false;
    response.writeHead(status, headers as string[]);
    response.end(body, encoding ?? 'utf8');
  }

  #answerFault(fault: ClientFault, socket: Duplex): void {
    const explained = explainClientFault(fault);
    const latest = (socket as Connection).latestResponse;
    const isInBody = latest !== undefined && !latest.req.complete;
    if (explained === undefined || (isInBody && latest.headersSent)) {
      // Nobody is left to be told, or this request has had its answer before the rest of its body.
      socket.destroy();
    } else if (isInBody && latest.socket === null) {
      // Answers to earlier requests are still owed: this one waits in its place behind them.
      this.#refuseHead(latest, ...explained);
      socket.pause();
    } else if (latest === undefined || isInBody || latest.writableFinished) {
      this.#refuse(socket, ...explained);
    } else {
      // An earlier request still waits for its answer; the garbage behind it gets none.
      latest.once('close', () => socket.destroy());
    }
  }

  #closeQuiet(): void {
    for (const socket of this.#connections) {
      const bytesMoved = socket.bytesRead + socket.bytesWritten;
      const isQuiet = bytesMoved === socket.bytesMoved;
      socket.bytesMoved = bytesMoved;
      socket.quietSeconds = isQuiet ? (socket.quietSeconds ?? 0) + LOOK_SECONDS : 0;
      if (socket.quietSeconds >= QUIET_SECONDS_MAX) socket.destroy();
    }
  }

  #refuse(socket: Duplex, code: ErrorCode, message: string): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    // After CONNECT node:http listens no more, and a reset by the client would end the process.
    socket.on('error', () => socket.destroy());
    socket.end(rawErrorResponse(code, message, this.#newRequestId()));
    socket.resume();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }
}

// What the service uses of node:http and node:net beyond their documentation. Each fact stands in one function, with
// its reason and its place in the source of Node.js 26.10.0, and node-http.test.ts has a test for each. No other file
// of the service may use a ServerResponse, an IncomingMessage, or the internals of a socket.

import type { Server, ServerOptions, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../../domain/errors.ts';
import type { HttpRequest } from '../message.ts';
import type { Body } from './body.ts';

/**
 * An import statement would also load the WebSocket client of node:http, which costs 15 MiB and 50 ms at every
 * start: it reads every export, also those that are loaded when they are first used (lib/http.js). Measured by
 * process.memoryUsage.rss() and performance.now() before and after either.
 */
const { createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule('node:http');
export { STATUS_CODES };

/**
 * A request whose body goes to `body` instead of the buffers and events of a stream, which cost as much as
 * parsing it: a body may have thousands of chunks. The parser calls `push` with each chunk, and with null at
 * the end (lib/_http_common.js, parserOnBody and parserOnMessageComplete).
 */
export class ReceivedRequest extends IncomingMessage {
  body: Body | undefined;

  override push(chunk: Buffer | null): boolean {
    this.body?.receive(chunk);
    return chunk === null ? super.push(null) : true;
  }
}

const NO_BODY = Buffer.alloc(0);

/** One request, and what node:http must be told about its response, which is written past it. */
export class Exchange implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly headers: HttpRequest['headers'];
  readonly address: string | undefined;
  /** What its Expect asks for, of which HTTP/1.0 has none (lib/_http_server.js, parserOnIncoming). */
  readonly expects: 'nothing' | 'continue' | 'other';
  readonly #request: ReceivedRequest;
  readonly #response: ServerResponse;
  /** After the refusal the connection closes. */
  fault: Refusal | undefined;
  hasAcceptedKey = false;

  constructor(
    request: ReceivedRequest,
    response: ServerResponse,
    expects: Exchange['expects'] = 'nothing',
  ) {
    const { method = '', url = '', httpVersion, headers, socket } = request;
    this.method = method;
    this.target = url;
    this.httpVersion = httpVersion;
    // Joined, so that none is a list.
    this.headers = headers as HttpRequest['headers'];
    this.address = socket.remoteAddress;
    this.expects = expects;
    this.#request = request;
    this.#response = response;
  }

  /** Whether the request has arrived to its end. */
  get isComplete(): boolean {
    return this.#request.complete;
  }

  /** A request with neither header has no body (lib/_http_server.js, hasBodyHeaders). */
  get hasBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': coding } = this.headers;
    return length !== undefined || coding !== undefined;
  }

  get body(): Body | undefined {
    return this.#request.body;
  }

  /** Set while the head is taken, because the first chunk may follow at once. */
  set body(body: Body | undefined) {
    this.#request.body = body;
  }

  /**
   * Whether another request may follow. The parser decides it from the version and from Connection
   * (lib/_http_server.js, parserOnIncoming). Behind an offer to upgrade it drops the rest of what it has read
   * (deps/llhttp, HPE_PAUSED_UPGRADE), so nothing that follows can be trusted.
   */
  get isKeptAlive(): boolean {
    return this.#response.shouldKeepAlive && this.headers['upgrade'] === undefined;
  }

  readBody(): Promise<Buffer> {
    const { body } = this;
    if (body?.wantsMore === true && this.expects === 'continue') this.#response.writeContinue();
    return body?.read() ?? Promise.resolve(NO_BODY);
  }

  /** OpenTelemetry reads the status when the response ends. */
  setStatus(status: number): void {
    this.#response.statusCode = status;
  }

  /**
   * The response was sent, and another may follow: node:http then frees the request and gives the socket to the
   * next response (lib/_http_server.js, resOnFinish).
   */
  end(): void {
    this.#response.emit('finish');
  }

  /**
   * The last response was sent. Unlike resOnFinish, this does not close the socket: the client may still be
   * sending, and would be reset before it has read the response.
   */
  endLast(): void {
    const { socket } = this.#response;
    if (socket !== null) this.#response.detachSocket(socket);
    this.#response.emit('close');
  }
}

type OnIncoming = (request: unknown, isKeptAlive: unknown) => number;
/** What a parser is told about a head: it has no body, and what follows is not HTTP. */
const SKIP_BODY_AND_REST = 2;

export type NodeServer = Server<typeof ReceivedRequest>;

/** Creates a server whose clients may close their sending side and still get the responses. */
export function createNodeServer(headersMax: number, options: ServerOptions): NodeServer {
  const server = createServer({ ...options, IncomingMessage: ReceivedRequest });
  // Otherwise node:http closes the connection at the FIN of the client (lib/_http_server.js, socketOnEnd).
  Object.assign(server, { httpAllowHalfOpen: true });
  // The parser refuses a head with more (HPE_HEADER_OVERFLOW). Earlier versions dropped what exceeds it.
  server.maxHeadersCount = headersMax;
  return server;
}

/** What node:http reports of bytes that never became a request. `reason` is the word of its parser. */
export type ClientFault = NodeJS.ErrnoException & {
  reason?: string;
  rawPacket?: Buffer;
  bytesParsed?: number;
};

interface NodeListeners {
  onConnection: (socket: Socket) => void;
  onExchange: (exchange: Exchange, socket: Socket) => void;
  /** CONNECT. */
  onTunnel: (socket: Duplex) => void;
  onFault: (fault: ClientFault, socket: Duplex) => void;
}

/** Reports connections, requests with any Expect, CONNECT, and bytes that are not a request. */
export function listenTo(server: NodeServer, listeners: NodeListeners): void {
  const take =
    (expects: Exchange['expects']) => (request: ReceivedRequest, response: ServerResponse) =>
      listeners.onExchange(new Exchange(request, response, expects), request.socket);
  server.on('connection', listeners.onConnection);
  server.on('request', take('nothing'));
  server.on('checkContinue', take('continue'));
  server.on('checkExpectation', take('other'));
  server.on('connect', (_request, socket) => {
    // From here on node:http neither listens to the socket nor closes it (lib/_http_server.js,
    // onParserExecuteCommon), and a reset by the client would end the process.
    socket.on('error', () => socket.destroy());
    listeners.onTunnel(socket);
  });
  server.on('clientError', listeners.onFault);
}

/**
 * Closes only the listener. The close of node:http also destroys idle connections, on which a client may be sending
 * its next request at this moment, and ends the timeouts of requests (lib/_http_server.js, httpServerPreClose).
 */
export function closeListener(server: NodeServer, onClosed: () => void): void {
  NetServer.prototype.close.call(server, onClosed);
}

/**
 * Calls `listener` when a paused socket is read again: node:http resumes it after every request that it has parsed
 * (lib/_http_common.js, parserOnMessageComplete).
 */
export function onResumed(socket: Socket, listener: () => void): void {
  socket.on('resume', listener);
}

/**
 * Drops the rest of what was read after a head for which `isOver` returns true. Otherwise node:http parses all of it,
 * up to 64 KiB of short requests. The parser is told so by the value with which node:http ends it before a tunnel (lib/_http_client.js, parserOnIncomingClient; lib/_http_common.js, parserOnHeadersComplete).
 */
export function dropRestOfReadWhen(socket: Socket, isOver: () => boolean): void {
  const { parser } = socket as Socket & { parser?: { onIncoming: OnIncoming } };
  if (parser === undefined) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, isKeptAlive) => {
    const value = onIncoming(request, isKeptAlive);
    return isOver() ? SKIP_BODY_AND_REST : value;
  };
}

/**
 * Drops everything that a client still sends: a listener for `data` takes the bytes from the parser, once node:http has
 * begun to read again (lib/_http_server.js, onSocketResume and generateSocketListenerWrapper). At the next request the
 * parser would pause a socket that has unsent bytes, until a `drain` that does not come after the end (parserOnIncoming,
 * socketOnDrain): the client would be reset, with its last response cut.
 */
export function dropInput(socket: Socket): void {
  socket.once('resume', () => {
    socket.removeAllListeners('data');
    socket.on('data', () => undefined);
  });
  socket.pause();
  socket.resume();
}

/**
 * A number that changes when a byte has moved in either direction. `bytesWritten` includes what waits for the client.
 * The timeout of a socket is no measure: while bytes wait, it fires after twice its time (lib/net.js, _onTimeout).
 */
export function movedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize: number } | null };
  return socket.bytesRead + socket.bytesWritten - (handle?.writeQueueSize ?? 0);
}

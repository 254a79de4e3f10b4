import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../domain/errors.ts';
import { Body, CUT_SHORT, type ReceivedRequest } from './body.ts';
import { encodeResponse, type HttpResponse } from './message.ts';

/** How much memory held requests, unfinished bodies and unsent bytes may occupy, all connections together. */
const OCCUPIED_BYTES_MAX = 64 * 1024 * 1024;
/** What node:http keeps for one parsed request: 2 KiB for a short one, 22 KiB for one with 200 headers. */
const REQUEST_BYTES = 16 * 1024;
/** One read from a socket returns at most this much, and the bodies of held requests may keep all of it in memory. */
const READ_BYTES_MAX = 64 * 1024;
/** How long the service waits for the client to close after the last response. */
const LINGER_MS = 2_000;
/** A connection on which no byte has moved for this long is closed. */
const QUIET_MS_MAX = 65_000;

/**
 * The connections of a server, and the memory that they occupy together. Beyond its limit, the connection that
 * has gone longest without finishing a response is closed: clients that read come last.
 */
export class Connections {
  readonly bySocket = new Map<Duplex, Connection>();
  /** Bytes by connection. The connection that finished a response most recently is the last. */
  readonly #occupied = new Map<Connection, number>();
  readonly #quietMsMax: number;
  #occupiedBytes = 0;
  isReadingPaused = false;
  /** Whether each connection is closed after its next response. */
  isClosing = false;

  constructor(quietMsMax = QUIET_MS_MAX) {
    this.#quietMsMax = quietMsMax;
  }

  add(socket: Socket): void {
    const connection = new Connection(socket, this);
    this.bySocket.set(socket, connection);
    // It is restarted by every byte that is received or sent. When it expires, node:http closes the socket.
    socket.setTimeout(this.#quietMsMax);
    socket.once('close', () => {
      connection.destroy();
      this.bySocket.delete(socket);
      this.release(connection);
    });
  }

  occupy(connection: Connection, bytes: number): void {
    const before = this.#occupied.get(connection) ?? 0;
    if (bytes === before) return;
    this.#occupiedBytes += bytes - before;
    if (bytes === 0) this.#occupied.delete(connection);
    else this.#occupied.set(connection, bytes);
    if (bytes > before && this.#occupiedBytes > OCCUPIED_BYTES_MAX) this.#closeOldest();
  }

  release(connection: Connection): void {
    this.#occupiedBytes -= this.#occupied.get(connection) ?? 0;
    this.#occupied.delete(connection);
  }

  /**
   * Node.js frees a closed connection at the end of a turn of the event loop, and thousands of others could be
   * read in the same turn. So nothing is read until the next one, which begins with the timers.
   */
  #closeOldest(): void {
    for (const [oldest] of this.#occupied) {
      if (this.#occupiedBytes <= OCCUPIED_BYTES_MAX) break;
      oldest.destroy();
      this.release(oldest);
    }
    if (this.isReadingPaused) return;
    this.#setReadingPaused(true);
    setTimeout(() => this.#setReadingPaused(false));
  }

  #setReadingPaused(isPaused: boolean): void {
    this.isReadingPaused = isPaused;
    for (const connection of this.bySocket.values()) connection.updateReading();
  }
}

/** What is sent when its turn has come, in response to a request or to bytes that never became one. */
interface Turn {
  request?: ReceivedRequest;
  respond: () => void;
}

/**
 * One connection and the order of what happens on it.
 *
 * - `idle`: the next request is handled as soon as it is parsed.
 * - `handling`: one request is being handled. Those that follow are held, and nothing more is read, until its
 *   response is sent. So a request behind a POST sees what the POST did, and a client that reads nothing has
 *   only one response in memory.
 * - `closing`: the last response was sent. Nothing more is handled or parsed. What the client still sends is
 *   dropped until it closes too: closing earlier would reset the connection, and the response could be lost.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #all: Connections;
  #state: 'idle' | 'handling' | 'closing' = 'idle';
  #current: Turn | undefined;
  #held: Turn[] = [];
  /** Until it ends, it keeps the socket in memory, also a closed one. */
  #lingering: NodeJS.Timeout | undefined;

  constructor(socket: Socket, all: Connections) {
    this.#socket = socket;
    this.#all = all;
    // node:http resumes the socket after every request and chunk that it has parsed.
    socket.on('resume', () => {
      if (this.#state === 'closing') this.#parseNoMore();
      else this.updateReading();
    });
  }

  /** Takes the next request, and handles it when its turn has come. */
  accept(response: ServerResponse<ReceivedRequest>, handle: () => Promise<HttpResponse>): void {
    const request = response.req;
    if (!request.readableEnded) {
      request.body = new Body(request.headers['content-length'], () => this.#update());
    }
    const respond = () => void handle().then((made) => this.#send(response, made));
    this.#take({ request, respond });
  }

  /** Refuses bytes that are not HTTP, after the responses that are due, and closes. */
  refuse(refusal: Refusal, respond: () => HttpResponse): void {
    const newest = this.#held.at(-1) ?? this.#current;
    // The bytes may belong to the body of the newest request.
    if (newest?.request?.complete === false) newest.request.body?.fail(refusal);
    else this.#take({ respond: () => this.#sendLast(respond()) });
  }

  /** Reads only what the request that is being handled needs. Without such a request, it reads the next one. */
  updateReading(): void {
    if (this.#state === 'closing') return;
    const isToBePaused =
      this.#held.length > 0 ||
      this.#current?.request?.body?.isToBeReceived === false ||
      this.#all.isReadingPaused;
    if (isToBePaused === this.#socket.isPaused()) return;
    if (isToBePaused) this.#socket.pause();
    else this.#socket.resume();
  }

  destroy(): void {
    this.#current?.request?.body?.fail(CUT_SHORT);
    this.#held = [];
    this.#state = 'closing';
    clearTimeout(this.#lingering);
    this.#socket.destroy();
  }

  #take(turn: Turn): void {
    this.#held.push(turn);
    if (this.#state === 'idle') this.#begin();
    else this.#update();
  }

  #begin(): void {
    // After the last response of a connection, held requests are not handled.
    if (!this.#socket.writable) return this.#update();
    this.#state = 'handling';
    this.#current = this.#held.shift();
    this.#current?.respond();
  }

  #send(response: ServerResponse<ReceivedRequest>, made: HttpResponse): void {
    if (response.req.complete) return this.#finish(response, made);
    // node:http is parsing bytes that it has read. They may contain the rest of the body.
    response.req.body?.fail(CUT_SHORT);
    setImmediate(() => this.#finish(response, made));
  }

  #finish(response: ServerResponse<ReceivedRequest>, made: HttpResponse): void {
    if (this.#all.isClosing && this.#held.length === 0) response.shouldKeepAlive = false;
    const { complete, method } = response.req;
    // OpenTelemetry reads it at the end of the response.
    response.statusCode = made.status;
    if (!complete || !response.shouldKeepAlive) return this.#sendLast(made, response);
    // The connection may have closed while the response was made.
    if (!this.#socket.writable) return;
    const [text, encoding] = encodeResponse(made, { method, isLast: false });
    this.#socket.write(text, encoding, (fault) => {
      if (fault) return;
      // node:http then lets go of the request.
      response.emit('finish');
      this.#next();
    });
    if (this.#socket.writableLength > 0) this.#update();
  }

  /** Unlike node:http, it does not close the connection while the client may still be sending. */
  #sendLast(made: HttpResponse, response?: ServerResponse<ReceivedRequest>): void {
    this.#state = 'closing';
    if (!this.#socket.writable) return;
    this.#socket.once('finish', () => {
      response?.detachSocket(this.#socket);
      response?.emit('close');
      this.#lingering = setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
    });
    const { method } = response?.req ?? {};
    const [text, encoding] = encodeResponse(made, { method, isLast: true });
    this.#socket.end(text, encoding);
    this.#update();
    // node:http stops and starts reading on these two.
    this.#socket.pause();
    this.#socket.resume();
  }

  /** A listener for `data` takes the bytes from the parser of node:http, which has one too. */
  #parseNoMore(): void {
    this.#socket.removeAllListeners('data');
    this.#socket.on('data', () => undefined);
  }

  #next(): void {
    this.#current = undefined;
    // One held request per turn of the event loop, so that others are served too.
    if (this.#held.length > 0) setImmediate(() => this.#begin());
    else if (this.#state === 'handling') this.#state = 'idle';
    // It has finished a response, so it is now the last to be closed to free memory.
    this.#all.release(this);
    this.#update();
  }

  #update(): void {
    // Until the event `close`, a destroyed connection occupies what node:http still parses of its last read.
    if (!this.#all.bySocket.has(this.#socket)) return;
    const requests = this.#held.length + (this.#state === 'closing' ? 1 : 0);
    this.#all.occupy(
      this,
      this.#socket.writableLength +
        (this.#current?.request?.body?.occupiedBytes ?? 0) +
        (this.#held.length > 0 ? READ_BYTES_MAX : 0) +
        requests * REQUEST_BYTES,
    );
    this.updateReading();
  }
}

import type { Socket } from 'node:net';
import type { Refusal } from '../../domain/errors.ts';
import type { Handler, HttpResponse } from '../message.ts';
import { Body, CUT_SHORT } from './body.ts';
import { encodeResponse } from './encode.ts';
import { dropInput, dropRestOfReadWhen, Exchange, onResumed } from './node-http.ts';

/** How many requests may wait behind the one in progress. With one more, the connection closes after these. */
const HELD_MAX = 100;
/** About what node:http keeps for one parsed request, which may have 200 headers. */
const REQUEST_BYTES = 16 * 1024;
/** One read from a socket returns at most this much, and the bodies of held requests may keep all of it in memory. */
const READ_BYTES_MAX = 64 * 1024;
/** How long the service waits for the client to close after the last response. */
const LINGER_MS = 2_000;

/** Where responses come from. */
export interface Responder extends Handler {
  /** The response to bytes that never became a request. */
  respondToRefusal(refusal: Refusal, address: string | undefined): HttpResponse;
  /** Instead of a response that cannot be sent, because a header is invalid. */
  respondToInvalid(response: HttpResponse, error: unknown): HttpResponse;
}

/** What a connection shares with the others. */
export interface Shared {
  readonly responder: Responder;
  /** Whether nothing is read at present, because memory was freed. */
  readonly isReadingPaused: boolean;
  /** Whether each connection is closed after its next response. */
  readonly isClosing: boolean;
  /** Called with the bytes that the connection occupies, whenever they may have changed. */
  occupy(connection: Connection, bytes: number): void;
  /** Called after each response that another may follow. */
  noteResponse(connection: Connection): void;
  close(connection: Connection): void;
}

/**
 * One connection and the order of what happens on it.
 *
 * - `idle`: the next request is handled as soon as it is parsed.
 * - `handling`: one request is being handled. Those that follow are held until its response is sent, and once one
 *   is held, nothing more is read. So a request behind a POST sees what the POST did, and a client that reads
 *   nothing has only one response in memory.
 * - `closing`: the last response was sent. Nothing more is handled. What the client still sends is dropped until
 *   it closes too: closing earlier would reset the connection, and the response could be lost.
 */
export class Connection {
  readonly socket: Socket;
  readonly #shared: Shared;
  #state: 'idle' | 'handling' | 'closing' = 'idle';
  #current: Exchange | undefined;
  /** Requests, and bytes that never became one. */
  #held: (Exchange | Refusal)[] = [];
  /** Requests that get no response. node:http keeps them until the socket closes. */
  #ignored = 0;
  #hasHadClient = false;
  /** What the socket had read when it was last idle. */
  #bytesReadIdle = 0;
  /** Keeps the socket in memory until it ends, even if the socket is closed. */
  #lingering: NodeJS.Timeout | undefined;

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket;
    this.#shared = shared;
    onResumed(socket, () => this.updateReading());
    dropRestOfReadWhen(socket, () => this.#ignored > 0);
  }

  /** Whether it waits for a request, or for the rest of its head. */
  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  /** Whether the key of a request on it was accepted. Otherwise it is that of a stranger. */
  get isClient(): boolean {
    return this.#hasHadClient || this.#current?.hasAcceptedKey === true;
  }

  /** Takes the next request, and handles it after the earlier ones. Requests beyond the limit are ignored. */
  accept(exchange: Exchange): void {
    if (this.#state === 'closing' || this.#ignored > 0 || this.#held.length === HELD_MAX) {
      this.#ignored += 1;
      return this.#update();
    }
    if (exchange.hasBody) {
      const bytesMax = this.#shared.responder.bodyBytesMax?.(exchange.target);
      const length = exchange.headers['content-length'];
      exchange.body = new Body(length, () => this.#update(), bytesMax);
    }
    this.#hold(exchange);
  }

  /** Refuses bytes that are not HTTP, after the responses that are due, and closes. */
  refuse(refusal: Refusal): void {
    if (this.#state === 'closing' || this.#ignored > 0) return;
    const newest = this.#held.at(-1) ?? this.#current;
    // The bytes may belong to the body of the newest request.
    if (newest instanceof Exchange && !newest.isComplete) newest.body?.fail(refusal);
    else this.#hold(refusal);
  }

  /** Reads only what the request that is being handled needs. Without such a request, it reads the next one. */
  updateReading(): void {
    if (this.#state === 'closing') return;
    const isToBePaused =
      this.#held.length > 0 ||
      this.#ignored > 0 ||
      (this.#current?.isComplete === false && this.#current.body?.wantsMore === false) ||
      this.#shared.isReadingPaused;
    if (isToBePaused === this.socket.isPaused()) return;
    if (isToBePaused) this.socket.pause();
    else this.socket.resume();
  }

  /** The socket is closed: nothing that it has sent is handled any more. */
  abandon(): void {
    this.#held = [];
    this.#state = 'closing';
    clearTimeout(this.#lingering);
    this.#current?.body?.fail(CUT_SHORT);
  }

  #hold(next: Exchange | Refusal): void {
    this.#held.push(next);
    if (this.#state === 'idle') this.#begin();
    else this.#update();
  }

  #begin(): void {
    // A destroyed connection handles nothing of what node:http still parses.
    if (!this.socket.writable) return this.#update();
    this.#state = 'handling';
    const first = this.#held.shift();
    const { responder } = this.#shared;
    if (first instanceof Exchange) {
      this.#current = first;
      void responder.handle(first).then((response) => this.#send(first, response));
    } else if (first !== undefined) {
      this.#sendLast(responder.respondToRefusal(first, this.socket.remoteAddress));
    }
  }

  #send(exchange: Exchange, response: HttpResponse): void {
    if (exchange.isComplete) return this.#finish(exchange, response);
    // node:http is parsing bytes that it has read. They may contain the rest of the body.
    exchange.body?.fail(CUT_SHORT);
    setImmediate(() => this.#finish(exchange, response));
  }

  #finish(exchange: Exchange, response: HttpResponse): void {
    exchange.setStatus(response.status);
    const isEnd = this.#held.length === 0 && (this.#ignored > 0 || this.#shared.isClosing);
    const isKept = exchange.isComplete && exchange.isKeptAlive && exchange.fault === undefined;
    if (isEnd || !isKept) return this.#sendLast(response, exchange);
    // The connection may have closed while the response was made.
    if (!this.socket.writable) return;
    this.socket.write(...this.#encode(response, exchange, false), (fault) => {
      if (fault) return;
      exchange.end();
      this.#next();
    });
    if (this.socket.writableLength > 0) this.#update();
  }

  #sendLast(response: HttpResponse, exchange?: Exchange): void {
    this.#state = 'closing';
    if (!this.socket.writable) return;
    this.socket.once('finish', () => {
      exchange?.endLast();
      this.#lingering = setTimeout(() => this.#shared.close(this), LINGER_MS).unref();
    });
    this.socket.end(...this.#encode(response, exchange, true));
    this.#update();
    dropInput(this.socket);
  }

  #encode(response: HttpResponse, exchange: Exchange | undefined, isLast: boolean) {
    const framing = { method: exchange?.method, isLast };
    try {
      return encodeResponse(response, framing);
    } catch (error) {
      const instead = this.#shared.responder.respondToInvalid(response, error);
      exchange?.setStatus(instead.status);
      return encodeResponse(instead, framing);
    }
  }

  #next(): void {
    this.#hasHadClient = this.isClient;
    this.#current = undefined;
    // One held request per turn of the event loop, so that others are served too.
    if (this.#held.length > 0) setImmediate(() => this.#begin());
    else if (this.#state === 'handling') this.#becomeIdle();
    this.#shared.noteResponse(this);
    this.#update();
  }

  #becomeIdle(): void {
    this.#state = 'idle';
    this.#bytesReadIdle = this.socket.bytesRead;
  }

  /** Nothing is read behind a held request, and a body may keep all of what was read with it. */
  get #heldBytes(): number {
    if (this.#held.length === 0) return 0;
    return Math.min(READ_BYTES_MAX, this.socket.bytesRead - this.#bytesReadIdle);
  }

  #update(): void {
    // Until the event `close`, a destroyed connection occupies what node:http still parses of its last read.
    const requests = this.#held.length + this.#ignored + (this.#state === 'closing' ? 1 : 0);
    this.#shared.occupy(
      this,
      this.socket.writableLength +
        (this.#current?.body?.occupiedBytes ?? 0) +
        this.#heldBytes +
        requests * REQUEST_BYTES,
    );
    this.updateReading();
  }
}

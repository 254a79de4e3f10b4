import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Refusal, type ErrorCode } from '../domain/errors.ts';
import type { Connections } from './connections.ts';
import { rawErrorResponse } from './error-response.ts';
import { BODY_FAULT } from './body.ts';

/** How long after an error the rest of what the client sends is read and dropped. */
const LINGER_MS = 1_000;
/** What node:http keeps for one parsed request, rounded up. */
const HELD_REQUEST_BYTES = 8 * 1024;
/** One read from a socket returns at most this much, and held requests may keep all of it in memory. */
const READ_BYTES_MAX = 64 * 1024;

const CONNECTION = Symbol('connection');

interface ConnectedSocket extends Duplex {
  [CONNECTION]?: Connection;
}

/** The connection that a socket belongs to. */
export function connectionOf(socket: Duplex): Connection | undefined {
  return (socket as ConnectedSocket)[CONNECTION];
}

/**
 * One connection and the order of what happens on it. One request is handled at a time. Those that follow are
 * held, and nothing more is read, until its response is sent. So a request behind a POST sees what the POST
 * did, and a client that reads nothing has only one response in memory.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #all: Connections;
  /** The response that is being made or sent. */
  #current: ServerResponse | undefined;
  /** The response to the newest request, which may still be held. */
  #newest: ServerResponse | undefined;
  /** What to do, in order, once the current response is sent. The socket is paused while there is any. */
  #held: (() => void)[] = [];
  /** Whether everything that follows on this connection is ignored, and how many requests were. */
  #isFinal = false;
  #ignored = 0;
  #bytesMoved = 0;
  #quietMs = 0;
  /** Why the body of the newest request will never be complete. */
  bodyFault: Refusal | undefined;

  constructor(socket: Socket, all: Connections) {
    this.#socket = socket;
    this.#all = all;
    (socket as ConnectedSocket)[CONNECTION] = this;
    // node:http resumes the socket after every request that it has parsed.
    socket.on('resume', () => this.updateReading());
    socket.once('close', () => {
      this.#held = [];
    });
  }

  get hasHeldRequests(): boolean {
    return this.#held.length > 0;
  }

  /** Takes the next request, and handles it when its turn has come. */
  accept(response: ServerResponse, handle: () => void): void {
    if (this.#isFinal) {
      this.#ignored += 1;
      if (!this.#socket.destroyed) this.#updateBacklog();
      return;
    }
    this.#newest = response;
    // The parser drops the bytes behind an offer to upgrade, so nothing that follows can be trusted.
    if (response.req.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    if (!response.shouldKeepAlive) this.#isFinal = true;
    this.#inOrder(() => {
      this.#current = response;
      handle();
    });
  }

  /** Refuses what never became a request, after the responses that are still due, and closes. */
  refuse(code: ErrorCode, message: string, requestId: string): void {
    if (this.#isFinal) return;
    this.#isFinal = true;
    this.#inOrder(() => {
      if (this.#socket.writable) this.#socket.write(rawErrorResponse(code, message, requestId));
      this.#closeAfterLinger();
    });
  }

  /** Whether the body of the newest request is still being received. A malformed byte is then part of it. */
  get isReceivingBody(): boolean {
    return this.#newest !== undefined && !this.#newest.req.complete;
  }

  /** Refuses the newest request, whose body cannot be read, after the responses before it. */
  refuseBody(code: ErrorCode, message: string): void {
    this.#isFinal = true;
    if (this.#newest === undefined || this.#newest.headersSent) {
      // The response was sent before the rest of the body came.
      this.#closeAfterLinger();
      return;
    }
    this.#newest.shouldKeepAlive = false;
    this.bodyFault ??= new Refusal(code, message);
    this.#newest.req.emit(BODY_FAULT, this.bodyFault);
  }

  /** Called before a response is written. */
  sending(response: ServerResponse): void {
    if (response.shouldKeepAlive) return;
    this.#isFinal = true;
    if (!response.req.complete && !response.req.readableEnded) this.#closeAfterBody(response.req);
  }

  /** Called after a response was written. Limits the time and the memory of a client that does not read it. */
  sent(response: ServerResponse): void {
    if (this.#socket.writableLength === 0) return;
    this.#updateBacklog();
    // This timeout is restarted by every byte that is sent. When it expires, node:http closes the socket.
    this.#socket.setTimeout(this.#all.quietMsMax);
    response.once('close', () => {
      this.#socket.setTimeout(0);
      this.#updateBacklog();
    });
  }

  /** Pauses reading while requests are held here, or while all connections together hold too much. */
  updateReading(): void {
    const isToBePaused = this.#held.length > 0 || this.#all.isReadingPaused;
    if (isToBePaused !== this.#socket.isPaused()) {
      if (isToBePaused) this.#socket.pause();
      else this.#socket.resume();
    }
  }

  destroy(): void {
    this.#isFinal = true;
    this.#held = [];
    this.#socket.destroy();
  }

  /** Called every `intervalMs`: closes the connection when it has been idle for too long. */
  closeIfQuiet(intervalMs: number): void {
    const bytesMoved = this.#socket.bytesRead + this.#socket.bytesWritten;
    const isQuiet = bytesMoved === this.#bytesMoved && this.#socket.writableLength === 0;
    this.#bytesMoved = bytesMoved;
    this.#quietMs = isQuiet ? this.#quietMs + intervalMs : 0;
    if (this.#quietMs >= this.#all.quietMsMax) this.#socket.destroy();
  }

  #inOrder(act: () => void): void {
    const isFree = this.#current === undefined || this.#current.closed;
    if (isFree && this.#held.length === 0) {
      act();
      return;
    }
    this.#held.push(act);
    if (this.#held.length === 1) {
      this.updateReading();
      this.#waitForCurrent();
    }
    this.#updateBacklog();
  }

  #updateBacklog(): void {
    const requests = this.#held.length + this.#ignored;
    const requestBytes = requests > 0 ? READ_BYTES_MAX + requests * HELD_REQUEST_BYTES : 0;
    this.#all.updateBacklog(this, requestBytes + this.#socket.writableLength);
  }

  /** At most one held request of a connection is handled per turn of the event loop, so that others are served too. */
  #waitForCurrent(): void {
    this.#current?.once('close', () => setImmediate(() => this.#next()));
  }

  #next(): void {
    // The response before was the last: what was held behind it is not handled.
    if (!this.#socket.writable) return;
    this.#held.shift()?.();
    if (this.#held.length > 0) this.#waitForCurrent();
    else this.updateReading();
    // It has finished a response, so it is now the last to be closed for want of memory.
    this.#all.removeBacklog(this);
    this.#updateBacklog();
  }

  /** Closed while it is still sending, a client would lose the response in a connection reset. */
  #closeAfterLinger(): void {
    this.#socket.end();
    this.#socket.resume();
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  /** The same while a body is being received. The timeout of the request limits it. node:http calls `destroySoon`. */
  #closeAfterBody(request: IncomingMessage): void {
    const socket = this.#socket;
    socket.destroySoon = () => {
      if (request.complete) {
        Socket.prototype.destroySoon.call(socket);
        return;
      }
      socket.end();
      request.once('close', () => socket.destroy());
      request.resume();
    };
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../domain/errors.ts';
import { failBody } from './body.ts';
import { rawErrorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

/** How much memory clients that do not read their responses may occupy, all connections together. */
const BACKLOG_BYTES_MAX = 32 * 1024 * 1024;
/** What node:http keeps for one parsed request, rounded up. */
const HELD_REQUEST_BYTES = 8 * 1024;
/** One read from a socket returns at most this much, and held requests may keep all of it in memory. */
const READ_BYTES_MAX = 64 * 1024;
/** How long after an error the rest of what the client sends is read and dropped. */
const LINGER_MS = 1_000;
/** A connection on which no byte has moved for this long is closed. It is checked QUIET_CHECKS times meanwhile. */
const QUIET_MS_MAX = 65_000;
const QUIET_CHECKS = 13;

/**
 * The connections of a server. Held requests and unread responses together may occupy a limited memory. Beyond
 * it, the connection that has gone longest without finishing a response is closed: clients that read come last.
 */
export class Connections {
  readonly bySocket = new Map<Duplex, Connection>();
  /** Bytes by connection. The connection that finished a response most recently is the last. */
  readonly #backlog = new Map<Connection, number>();
  readonly #quietCheck: NodeJS.Timeout;
  readonly quietMsMax: number;
  #backlogBytes = 0;
  isReadingPaused = false;
  isClosing = false;

  constructor(quietMsMax = QUIET_MS_MAX) {
    this.quietMsMax = quietMsMax;
    const checkMs = quietMsMax / QUIET_CHECKS;
    this.#quietCheck = setInterval(() => {
      for (const connection of this.bySocket.values()) connection.closeIfQuiet(checkMs);
    }, checkMs).unref();
  }

  add(socket: Socket): void {
    const connection = new Connection(socket, this);
    this.bySocket.set(socket, connection);
    socket.once('close', () => {
      connection.destroy();
      this.bySocket.delete(socket);
      this.removeBacklog(connection);
    });
  }

  /** From now on, each connection is closed after its next response. */
  close(): void {
    this.isClosing = true;
    clearInterval(this.#quietCheck);
  }

  updateBacklog(connection: Connection, bytes: number): void {
    this.#backlogBytes += bytes - (this.#backlog.get(connection) ?? 0);
    if (bytes === 0) this.#backlog.delete(connection);
    else this.#backlog.set(connection, bytes);
    for (const [oldest] of this.#backlog) {
      if (this.#backlogBytes <= BACKLOG_BYTES_MAX) return;
      this.removeBacklog(oldest);
      oldest.destroy();
      if (!this.isReadingPaused) this.#pauseReading();
    }
  }

  removeBacklog(connection: Connection): void {
    this.#backlogBytes -= this.#backlog.get(connection) ?? 0;
    this.#backlog.delete(connection);
  }

  /**
   * The memory of a connection is free only when its `close` event was emitted, at the very end of a turn of the
   * event loop. Until then nothing is read: thousands of connections could each bring more in the same turn.
   */
  #pauseReading(): void {
    const setPaused = (isPaused: boolean) => {
      this.isReadingPaused = isPaused;
      for (const connection of this.bySocket.values()) connection.updateReading();
    };
    setPaused(true);
    // The first comes before the `close` events of this turn, the second after them.
    setImmediate(() => setImmediate(() => setPaused(false)));
  }
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

  constructor(socket: Socket, all: Connections) {
    this.#socket = socket;
    this.#all = all;
    // node:http resumes the socket after every request that it has parsed.
    socket.on('resume', () => this.updateReading());
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
      response.once('close', () => this.#release(response));
      handle();
    });
  }

  /** Refuses bytes that are not HTTP, after the responses that are due, and closes. False: the handler refuses. */
  refuse(refusal: Refusal, requestId: string): boolean {
    const wasFinal = this.#isFinal;
    this.#isFinal = true;
    if (this.#newest !== undefined && !this.#newest.req.complete) {
      // The bytes belong to the body of the newest request, whose response may have been sent already.
      this.#newest.shouldKeepAlive = false;
      if (this.#newest.headersSent) this.#closeAfterLinger();
      else failBody(this.#newest.req, refusal);
      return false;
    }
    if (wasFinal) return false;
    this.#inOrder(() => {
      if (this.#socket.writable) this.#socket.write(rawErrorResponse(refusal, requestId));
      this.#closeAfterLinger();
    });
    return true;
  }

  /** Sends a response. Limits the time and the memory of a client that does not read it. */
  send(response: ServerResponse, { status, headers, body, encoding }: HttpResponse): void {
    // The connection may have closed while the response was made.
    if (!this.#socket.writable) return;
    if (this.#all.isClosing && this.#held.length === 0) response.shouldKeepAlive = false;
    if (!response.shouldKeepAlive) {
      this.#isFinal = true;
      if (!response.req.complete && !response.req.readableEnded) this.#closeAfterBody(response.req);
    }
    response.writeHead(status, headers as string[]);
    response.end(body, encoding ?? 'utf8');
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
    if (isToBePaused === this.#socket.isPaused()) return;
    if (isToBePaused) this.#socket.pause();
    else this.#socket.resume();
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
    if (this.#held.length === 0 && this.#current === undefined) return act();
    this.#held.push(act);
    this.updateReading();
    this.#updateBacklog();
  }

  /** Forgets a response that was sent: with many idle connections, the last ones would fill the young heap. */
  #release(response: ServerResponse): void {
    const forget = () => {
      if (this.#newest === response) this.#newest = undefined;
    };
    if (response.req.complete) forget();
    else response.req.once('close', forget);
    // One held request per turn of the event loop, so that others are served too.
    if (this.#held.length > 0) setImmediate(() => this.#next());
    else this.#current = undefined;
  }

  #updateBacklog(): void {
    const requests = this.#held.length + this.#ignored;
    const requestBytes = requests > 0 ? READ_BYTES_MAX + requests * HELD_REQUEST_BYTES : 0;
    this.#all.updateBacklog(this, requestBytes + this.#socket.writableLength);
  }

  #next(): void {
    this.#current = undefined;
    // After the last response of a connection, held requests are not handled.
    if (!this.#socket.writable) return;
    this.#held.shift()?.();
    this.updateReading();
    // It has finished a response, so it is now the last to be closed to free memory.
    this.#all.removeBacklog(this);
    this.#updateBacklog();
  }

  /** A client whose connection is closed while it is still sending would lose the response in a reset. */
  #closeAfterLinger(): void {
    this.#socket.end();
    this.#socket.resume();
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  /** The same while a body is being received, for as long as the request may take. node:http calls `destroySoon`. */
  #closeAfterBody(request: IncomingMessage): void {
    this.#socket.destroySoon = () => {
      if (request.complete) Socket.prototype.destroySoon.call(this.#socket);
      else request.once('close', () => this.#socket.destroy()).resume();
      this.#socket.end();
    };
  }
}

import type { Socket } from 'node:net';
import { Connection } from './connection.ts';

/** How much memory clients that do not read their responses may occupy, all connections together. */
const BACKLOG_BYTES_MAX = 32 * 1024 * 1024;
/** A connection on which nothing has moved for this long is closed: it is idle, or its client has stopped reading. */
const QUIET_MS_MAX = 65_000;
/** Connections are checked this many times within that time. */
const QUIET_CHECKS = 13;

/**
 * The connections of a server, and the memory that they occupy together: requests that are held until their
 * turn, and bytes that the client has not taken yet. Beyond the bound the connection that has gone longest
 * without finishing a response is closed, so that clients that read are the last to be affected.
 */
export class Connections {
  readonly #all = new Set<Connection>();
  /** Bytes by connection. The connection that finished a response most recently is the last. */
  readonly #backlog = new Map<Connection, number>();
  readonly #quietCheck: NodeJS.Timeout;
  readonly quietMsMax: number;
  #backlogBytes = 0;
  #isReadingPaused = false;

  constructor(quietMsMax = QUIET_MS_MAX) {
    this.quietMsMax = quietMsMax;
    const checkMs = quietMsMax / QUIET_CHECKS;
    this.#quietCheck = setInterval(() => {
      for (const connection of this.#all) connection.closeIfQuiet(checkMs);
    }, checkMs).unref();
  }

  get isReadingPaused(): boolean {
    return this.#isReadingPaused;
  }

  add(socket: Socket): void {
    const connection = new Connection(socket, this);
    this.#all.add(connection);
    socket.once('close', () => {
      this.#all.delete(connection);
      this.removeBacklog(connection);
    });
  }

  close(): void {
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
      this.#pauseReading();
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
    if (this.#isReadingPaused) return;
    this.#isReadingPaused = true;
    for (const connection of this.#all) connection.updateReading();
    const resume = () => {
      this.#isReadingPaused = false;
      for (const connection of this.#all) connection.updateReading();
    };
    // The first comes before the `close` events of this turn, the second after them.
    setImmediate(() => setImmediate(resume));
  }
}

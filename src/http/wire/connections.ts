import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { counter, gauge, type Figure, type Measured } from '../../ops/metrics.ts';
import { Connection, type Responder, type Shared } from './connection.ts';
import { movedBytes } from './node-http.ts';

/** How much memory held requests, unfinished bodies and unsent bytes may occupy, all connections together. */
const OCCUPIED_BYTES_MAX = 64 * 1024 * 1024;
/** How much is kept when memory is freed: several MiB less, so that it is not freed again for every byte. */
const OCCUPIED_BYTES_KEPT = 56 * 1024 * 1024;
/** A client that sends one request at a time and reads its responses occupies less, except with a very long page. */
const LARGE_BYTES_MIN = 128 * 1024;
/** When this part of the places is taken, connections that have been idle for this long make room for new ones. */
const CROWDED = 0.9;
const IDLE_MS_MIN = 1_000;

interface Limits {
  connectionsMax: number;
  /** A connection on which no byte has moved for this long is closed. */
  quietMsMax: number;
  nowMs: () => number;
}

/** The place of an open connection. */
interface Place {
  connection: Connection;
  occupiedBytes: number;
  /** When it finished its last response, or was accepted. */
  sinceMs: number;
  /** `movedBytes` as the last sweep has seen it, and when a sweep has seen it change. */
  moved: number;
  movedMs: number;
}

/**
 * The open connections of a server, and the memory that they occupy together. It decides which of them are closed when
 * memory or places run short, and when the service stops.
 */
export class Connections implements Shared, Measured {
  readonly responder: Responder;
  readonly #limits: Limits;
  readonly #places = new Map<Duplex, Place>();
  /** Those that never had a response, and the others, each in the order of `sinceMs`. */
  readonly #byAge = { strangers: new Set<Place>(), served: new Set<Place>() };
  #occupiedBytes = 0;
  #closedForRoom = 0;
  isReadingPaused = false;
  isClosing = false;

  constructor(responder: Responder, limits: Limits) {
    this.responder = responder;
    this.#limits = limits;
  }

  figures(): Figure[] {
    const help = 'Idle connections closed because nearly all places were taken.';
    return [
      gauge('petstore_connections', 'Open connections.', this.#places.size),
      counter('petstore_connections_closed_for_room_total', help, this.#closedForRoom),
    ];
  }

  find(socket: Duplex): Connection | undefined {
    return this.#places.get(socket)?.connection;
  }

  add(socket: Socket): void {
    const nowMs = this.#limits.nowMs();
    if (this.#excess >= 0) this.#closeIdle(nowMs);
    const connection = new Connection(socket, this);
    const place = { connection, occupiedBytes: 0, sinceMs: nowMs, moved: 0, movedMs: nowMs };
    this.#places.set(socket, place);
    this.#byAge.strangers.add(place);
    socket.once('close', () => {
      connection.destroy();
      this.#occupiedBytes -= place.occupiedBytes;
      this.#places.delete(socket);
      this.#byAge.strangers.delete(place);
      this.#byAge.served.delete(place);
    });
  }

  occupy({ socket }: Connection, bytes: number): void {
    const place = this.#places.get(socket);
    if (place === undefined || bytes === place.occupiedBytes) return;
    const isMore = bytes > place.occupiedBytes;
    this.#occupiedBytes += bytes - place.occupiedBytes;
    place.occupiedBytes = bytes;
    if (isMore && this.#occupiedBytes > OCCUPIED_BYTES_MAX) this.#freeMemory();
  }

  /** The connection becomes the last one. */
  noteResponse({ socket }: Connection): void {
    const place = this.#places.get(socket);
    if (place === undefined) return;
    place.sinceMs = this.#limits.nowMs();
    const { strangers, served } = this.#byAge;
    if (!served.delete(place)) strangers.delete(place);
    served.add(place);
  }

  /**
   * Closes the connections on which no byte has moved for too long, and when the service stops, the idle ones on which
   * none has moved since the last sweep. It makes room too: when all places are taken, node:net drops new connections
   * before they are seen here.
   */
  sweep(): void {
    const nowMs = this.#limits.nowMs();
    for (let excess = this.#excess; excess >= 0; excess -= 1) this.#closeIdle(nowMs);
    for (const place of this.#places.values()) {
      const { connection } = place;
      const moved = movedBytes(connection.socket);
      if (moved !== place.moved) {
        place.moved = moved;
        place.movedMs = nowMs;
      } else if (
        nowMs - place.movedMs >= this.#limits.quietMsMax ||
        (this.isClosing && connection.isIdle)
      ) {
        connection.destroy();
      }
    }
  }

  destroyAll(): void {
    for (const { connection } of this.#places.values()) connection.destroy();
  }

  /** How many more connections there are than nine tenths of the places. */
  get #excess(): number {
    return this.#places.size - CROWDED * this.#limits.connectionsMax;
  }

  /** Closes one that never had a response, or else the longest idle one, so that those of proxies go last. */
  #closeIdle(nowMs: number): void {
    for (const places of Object.values(this.#byAge)) {
      for (const place of places) {
        // Those that follow are younger.
        if (nowMs - place.sinceMs < IDLE_MS_MIN) break;
        if (!place.connection.isIdle) continue;
        places.delete(place);
        this.#closedForRoom += 1;
        return place.connection.destroy();
      }
    }
  }

  /**
   * Closes the largest connections, and then those that have gone longest without finishing a response.
   *
   * Node.js frees a closed connection at the end of a turn of the event loop, and thousands of others could be
   * read in the same turn. So nothing is read until the next one, which begins with the timers.
   */
  #freeMemory(): void {
    const all = [...this.#places.values()].filter(({ occupiedBytes }) => occupiedBytes > 0);
    const { largest = [], oldest = [] } = Object.groupBy(all, ({ occupiedBytes }) =>
      occupiedBytes > LARGE_BYTES_MIN ? 'largest' : 'oldest',
    );
    largest.sort((one, two) => two.occupiedBytes - one.occupiedBytes);
    oldest.sort((one, two) => one.sinceMs - two.sinceMs);
    for (const place of [...largest, ...oldest]) {
      if (this.#occupiedBytes <= OCCUPIED_BYTES_KEPT) break;
      place.connection.destroy();
      this.#occupiedBytes -= place.occupiedBytes;
      place.occupiedBytes = 0;
    }
    if (this.isReadingPaused) return;
    this.#setReadingPaused(true);
    setTimeout(() => this.#setReadingPaused(false));
  }

  #setReadingPaused(isPaused: boolean): void {
    this.isReadingPaused = isPaused;
    for (const { connection } of this.#places.values()) connection.updateReading();
  }
}

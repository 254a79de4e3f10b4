import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { counter, gauge, type Figure, type Measured } from '../../ops/metrics.ts';
import { Connection, type Responder, type Shared } from './connection.ts';
import { movedBytes } from './node-http.ts';

/** How much memory held requests, unfinished bodies and unsent bytes may occupy, all connections together. */
const OCCUPIED_BYTES_MAX = 64 * 1024 * 1024;
/** How much is kept when memory is freed: several MiB less, so that it is not freed again for every byte. */
const OCCUPIED_BYTES_KEPT = 56 * 1024 * 1024;
/** When this part of the places is taken, connections make room for new ones until this part is. */
const CROWDED = 0.9;
const PLACES_KEPT = 0.85;
/** A client may be idle for this long, and a stranger may take it to show a key. */
const GRACE_MS = 1_000;
/** Where nobody can make room, the next attempt is later: each looks at all connections. */
const ATTEMPT_INTERVAL_MS = 100;
const REPORT_INTERVAL_MS = 60_000;

/** How many connections were closed because memory or places ran short. */
export interface ClosedForRoom {
  strangers: number;
  clients: number;
}

interface Limits {
  connectionsMax: number;
  /** A connection on which no byte has moved for this long is closed. */
  quietMsMax: number;
  nowMs: () => number;
  /** Called at most once per minute with those that were closed since the last call. */
  onClosedForRoom?: ((closed: ClosedForRoom) => void) | undefined;
}

/** The place of an open connection. */
interface Place {
  connection: Connection;
  occupiedBytes: number;
  acceptedMs: number;
  /** When it finished its last response, or was accepted. */
  sinceMs: number;
  /** Its socket is destroyed, and has not ended yet. */
  isClosed: boolean;
  /** `movedBytes` as the last sweep has seen it, and when a sweep has seen it change. */
  moved: number;
  movedMs: number;
}

/** The one order in which connections are closed: strangers, then the largest, then the longest idle. */
function byPrecedence(one: Place, two: Place): number {
  return (
    Number(one.connection.isClient) - Number(two.connection.isClient) ||
    two.occupiedBytes - one.occupiedBytes ||
    one.sinceMs - two.sinceMs
  );
}

/**
 * The open connections of a server, and the memory that they occupy together. It decides which of them are closed when
 * memory or places run short, and when the service stops.
 */
export class Connections implements Shared, Measured {
  readonly responder: Responder;
  readonly #limits: Limits;
  readonly #places = new Map<Duplex, Place>();
  #occupiedBytes = 0;
  #nextAttemptMs = 0;
  #closedForRoom = 0;
  #unreported: ClosedForRoom = { strangers: 0, clients: 0 };
  #nextReportMs = 0;
  isReadingPaused = false;
  isClosing = false;

  constructor(responder: Responder, limits: Limits) {
    this.responder = responder;
    this.#limits = limits;
  }

  figures(): Figure[] {
    const help = 'Connections closed because memory or places ran short.';
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
    this.#freePlaces(nowMs);
    const connection = new Connection(socket, this);
    const times = { acceptedMs: nowMs, sinceMs: nowMs, movedMs: nowMs };
    const place = { connection, occupiedBytes: 0, isClosed: false, moved: 0, ...times };
    this.#places.set(socket, place);
    socket.once('close', () => {
      connection.abandon();
      this.#occupiedBytes -= place.occupiedBytes;
      this.#places.delete(socket);
    });
  }

  close({ socket }: { socket: Duplex }): void {
    const place = this.#places.get(socket);
    if (place !== undefined) this.#destroy(place);
  }

  occupy({ socket }: Connection, bytes: number): void {
    const place = this.#places.get(socket);
    if (place === undefined || bytes === place.occupiedBytes) return;
    const isMore = bytes > place.occupiedBytes;
    this.#occupiedBytes += bytes - place.occupiedBytes;
    place.occupiedBytes = bytes;
    if (isMore && !place.isClosed && this.#occupiedBytes > OCCUPIED_BYTES_MAX) this.#freeMemory();
  }

  noteResponse({ socket }: Connection): void {
    const place = this.#places.get(socket);
    if (place !== undefined) place.sinceMs = this.#limits.nowMs();
  }

  /**
   * Closes the connections on which no byte has moved for too long, and when the service stops, the idle ones on which
   * none has moved since the last sweep. It makes room too: when all places are taken, node:net drops new connections
   * before they are seen here.
   */
  sweep(): void {
    const nowMs = this.#limits.nowMs();
    this.#freePlaces(nowMs);
    this.#report(nowMs);
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
        this.#destroy(place);
      }
    }
  }

  destroyAll(): void {
    for (const place of this.#places.values()) this.#destroy(place);
  }

  /** No other code of the service destroys a socket that is in this list. */
  #destroy(place: Place): void {
    place.isClosed = true;
    place.connection.abandon();
    place.connection.socket.destroy();
    this.#occupiedBytes -= place.occupiedBytes;
    place.occupiedBytes = 0;
  }

  #open(): Place[] {
    return [...this.#places.values()].filter(({ isClosed }) => !isClosed);
  }

  /** Several at once, so that it is rarely necessary. */
  #freePlaces(nowMs: number): void {
    const { connectionsMax } = this.#limits;
    if (this.#places.size < CROWDED * connectionsMax || nowMs < this.#nextAttemptMs) return;
    this.#nextAttemptMs = nowMs + ATTEMPT_INTERVAL_MS;
    const open = this.#open();
    const excess = Math.ceil(open.length - PLACES_KEPT * connectionsMax);
    const { strangers = [], clients = [] } = Object.groupBy(open, ({ connection }) =>
      connection.isClient ? 'clients' : 'strangers',
    );
    // A stranger keeps no place by sending one request after another. One that has just come may show a key next.
    const old = strangers.filter(({ acceptedMs }) => nowMs - acceptedMs >= GRACE_MS);
    const idle = clients.filter(
      ({ connection, sinceMs }) => connection.isIdle && nowMs - sinceMs >= GRACE_MS,
    );
    // No client gives up its place for a stranger.
    const idleMax = Math.max(0, excess - strangers.length);
    const closed = [
      ...old.toSorted(byPrecedence).slice(0, excess),
      ...idle.toSorted(byPrecedence).slice(0, idleMax),
    ];
    for (const place of closed) this.#closeForRoom(place);
  }

  /**
   * Node.js frees a closed connection at the end of a turn of the event loop, and thousands of others could be
   * read in the same turn. So nothing is read until the next one, which begins with the timers.
   */
  #freeMemory(): void {
    const holding = this.#open().filter(({ occupiedBytes }) => occupiedBytes > 0);
    for (const place of holding.toSorted(byPrecedence)) {
      if (this.#occupiedBytes <= OCCUPIED_BYTES_KEPT) break;
      this.#closeForRoom(place);
    }
    if (this.isReadingPaused) return;
    this.#setReadingPaused(true);
    setTimeout(() => this.#setReadingPaused(false));
  }

  #closeForRoom(place: Place): void {
    this.#closedForRoom += 1;
    this.#unreported[place.connection.isClient ? 'clients' : 'strangers'] += 1;
    this.#destroy(place);
  }

  #report(nowMs: number): void {
    const { strangers, clients } = this.#unreported;
    if (strangers + clients === 0 || nowMs < this.#nextReportMs) return;
    this.#nextReportMs = nowMs + REPORT_INTERVAL_MS;
    this.#limits.onClosedForRoom?.(this.#unreported);
    this.#unreported = { strangers: 0, clients: 0 };
  }

  #setReadingPaused(isPaused: boolean): void {
    this.isReadingPaused = isPaused;
    for (const { connection } of this.#places.values()) connection.updateReading();
  }
}

import { StoreUnusable } from '../../domain/store.ts';
import type { Address, Host } from './address.ts';
import { openConnection, ReadOnlyServer, type Connection } from './connection.ts';
import { NotSent, stateOf } from './faults.ts';
import { NoHost, ReplacedPrimary, type HostFault } from './host-faults.ts';
import { HostProbe } from './host-probe.ts';
import { requireOwnSession } from './own-session.ts';

const SESSION_ENDED = '57P01';
/** Half of the two seconds within which a process has left a primary that was replaced. */
const WATCH_INTERVAL_MS = 1_000;

/**
 * Knows which of the hosts to use: of those that take writes, the one with the highest timeline. A primary
 * that was replaced may live on and go on taking writes, so that only the hosts together can tell. Once
 * a newer one was seen, an older one is not used again, even while the newer one is away.
 *
 * A single host is neither asked nor watched.
 */
export class Hosts {
  readonly #address: Address;
  readonly #probes: HostProbe[];
  /** Whether connections to a host have sessions of their own: checked once, by the first of them. */
  readonly #sessionChecks = new Map<Host, Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #current: Host | undefined;
  /** The highest timeline seen on a host that took writes. */
  #timeline = 0;
  #onMoved = (): void => undefined;
  #isClosed = false;

  constructor(address: Address) {
    const { hosts } = address;
    this.#address = address;
    this.#probes = hosts.length > 1 ? hosts.map((host) => new HostProbe(address, host)) : [];
    if (hosts.length === 1) this.#current = hosts[0];
  }

  /** Opens a connection to the current host, or to the one that has taken its place. */
  async open(): Promise<Connection> {
    let fault: HostFault | undefined;
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const host = this.#current;
      if (host !== undefined && host !== fault?.host) {
        try {
          return await this.#openAt(host);
        } catch (error) {
          fault = { host, error };
        }
      }
      if (this.#current === fault?.host) await this.ask();
    }
    throw new NoHost(this.#faults(fault), this.#address);
  }

  /** Asks every host now, and moves if another one than the current is the newest. Never throws. */
  async ask(): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe.ask()));
    this.#choose();
  }

  /** From now on `onMoved` tells that every connection opened so far must be given up. */
  watch(onMoved: () => void): void {
    this.#onMoved = onMoved;
    for (const probe of this.#probes) this.#askLater(probe);
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const probe of this.#probes) probe.close();
  }

  /** Each host in its own time: one that gives no response must not hold up the others. */
  #askLater(probe: HostProbe): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#askAndRepeat(probe);
    }, WATCH_INTERVAL_MS);
    this.#timers.add(timer);
  }

  async #askAndRepeat(probe: HostProbe): Promise<void> {
    await probe.ask();
    this.#choose();
    if (!this.#isClosed) this.#askLater(probe);
  }

  #choose(): void {
    if (this.#isClosed || this.#probes.length === 0) return;
    const timelines = this.#probes.map(({ state }) => timelineOf(state));
    this.#timeline = Math.max(this.#timeline, ...timelines);
    const newest = this.#probes.filter(({ state }) => timelineOf(state) === this.#timeline);
    const current = this.#probes.find(({ host }) => host === this.#current);
    if (current !== undefined && newest.includes(current)) return;
    const next = newest[0]?.host;
    // One that gives no response may be slow. Whether it can be used shows when it is.
    if (next === undefined && current?.state.kind === 'silent') return;
    if (next === this.#current) return;
    this.#current = next;
    this.#onMoved();
  }

  async #openAt(host: Host): Promise<Connection> {
    const connection = await this.#openSession(host);
    if (host === this.#current) return connection;
    connection.destroy();
    throw new NotSent('another host has taken its place');
  }

  /** A session may be ended by hand while it is being opened, by a server that would take the next one. */
  async #openSession(host: Host): Promise<Connection> {
    try {
      return await this.#openOnce(host);
    } catch (error) {
      if (stateOf(error) !== SESSION_ENDED) throw error;
      return await this.#openOnce(host);
    }
  }

  async #openOnce(host: Host): Promise<Connection> {
    const check = this.#sessionChecks.get(host) ?? requireOwnSession(this.#address, host);
    this.#sessionChecks.set(host, check);
    try {
      await check;
    } catch (error) {
      this.#sessionChecks.delete(host);
      throw error;
    }
    return openConnection(this.#address, host);
  }

  /** Why each host cannot be used. */
  #faults(fault: HostFault | undefined): HostFault[] {
    return this.#address.hosts.flatMap((host) => {
      if (host === fault?.host) return [fault];
      const state = this.#probes.find((probe) => probe.host === host)?.state;
      if (state?.kind === 'silent') return [{ host, error: state.error }];
      if (state?.kind === 'read_only') return [{ host, error: new ReadOnlyServer() }];
      if (state === undefined || state.timeline === this.#timeline) return [];
      return [{ host, error: new ReplacedPrimary(state.timeline, this.#timeline) }];
    });
  }
}

function timelineOf(state: HostProbe['state']): number {
  return state.kind === 'writable' ? state.timeline : -1;
}

/** The first connection of a program: without it there is nothing to start with. */
export async function openFirst(hosts: Hosts): Promise<Connection> {
  try {
    return await hosts.open();
  } catch (error) {
    hosts.close();
    if (!(error instanceof NoHost)) throw error;
    throw new StoreUnusable(`the database cannot be used: ${error.message}.`, { cause: error });
  }
}

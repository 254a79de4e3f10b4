import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import type { Address, Host } from './address.ts';
import { ask, connect, openConnection, requireOwnSession, type Connection } from './connection.ts';
import { isWrongSetting, NoHost, NotSent, readOnlyHost, stateOf } from './errors.ts';
import type { Past } from './past.ts';

const SESSION_ENDED = '57P01';

/** Half of the two seconds within which a process must stop using a replaced primary. */
const WATCH_INTERVAL_MS = 1_000;

/** The WAL file name begins with the timeline in 8 hexadecimal digits. */
const TIMELINE_DIGITS = 8;

/**
 * NULL where writes are refused, otherwise a name that begins with the timeline, which each promotion
 * raises. pg_control_checkpoint() would report the old timeline until the next checkpoint.
 */
const WAL_FILE = `
  SELECT CASE WHEN current_setting('transaction_read_only') = 'off'
              THEN pg_walfile_name(pg_current_wal_lsn()) END`;

/** What one host last reported of itself. */
type HostState =
  | { kind: 'writable'; timeline: number }
  | { kind: 'read_only' }
  | { kind: 'silent'; error: unknown };

/** Asks one host whether it takes writes, on a connection of its own that stays open in between. */
class HostProbe {
  readonly host: Host;
  state: HostState = { kind: 'silent', error: new Error('it was not asked yet') };
  readonly #address: Address;
  #connection: Connection | undefined;
  #asking: Promise<void> | undefined;
  #isClosed = false;

  constructor(address: Address, host: Host) {
    this.#address = address;
    this.host = host;
  }

  /** Brings `state` up to date; never throws. Simultaneous callers share one query. */
  ask(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  close(): void {
    this.#isClosed = true;
    void this.#connection?.close();
  }

  async #ask(): Promise<void> {
    try {
      if (this.#connection?.isUsable() !== true) {
        this.#connection = await connect(this.#address, this.host);
      }
      this.state = await readState(this.#connection);
    } catch (error) {
      this.state = { kind: 'silent', error };
      this.#connection?.destroy();
    }
    this.#asking = undefined;
    if (this.#isClosed) this.close();
  }
}

async function readState(connection: Connection): Promise<HostState> {
  const [row] = await ask(connection, WAL_FILE);
  const name = row?.[0] as string | null;
  if (name === null) return { kind: 'read_only' };
  return { kind: 'writable', timeline: Number.parseInt(name.slice(0, TIMELINE_DIGITS), 16) };
}

/**
 * Chooses the host to use: of those that take writes, the one with the highest timeline. A replaced primary
 * may keep running and accepting writes, so the choice needs the state of all hosts. Once a newer primary
 * was seen, an older one is not used again, even while the newer one is down.
 *
 * A single host is neither asked nor watched.
 */
export class Hosts {
  readonly #address: Address;
  readonly #past: Past | undefined;
  readonly #probes: HostProbe[];
  /** The hosts whose connections have sessions of their own. */
  readonly #checked = new Set<Host>();
  #watch: NodeJS.Timeout | undefined;
  #current: Host | undefined;
  /** The highest timeline seen on a host that took writes. */
  #timeline = 0;
  #onMoved = (): void => undefined;

  constructor(address: Address, past?: Past) {
    const { hosts } = address;
    this.#address = address;
    this.#past = past;
    this.#probes = hosts.length > 1 ? hosts.map((host) => new HostProbe(address, host)) : [];
    if (hosts.length === 1) this.#current = hosts[0];
  }

  /** Opens a connection to the current host, or to the one that has replaced it. */
  async open(): Promise<Connection> {
    const faults = new Map<Host, unknown>();
    const host = this.#current;
    const connection = await this.#tryOpen(host, faults);
    if (connection !== undefined) return connection;
    // The watch may have moved to another host meanwhile.
    if (this.#current === host) await this.ask();
    if (this.#current !== host) {
      const moved = await this.#tryOpen(this.#current, faults);
      if (moved !== undefined) return moved;
    }
    for (const probe of this.#probes) {
      const fault = faults.get(probe.host) ?? this.#faultOf(probe.state);
      if (fault !== undefined) faults.set(probe.host, fault);
    }
    throw new NoHost(faults, this.#address);
  }

  /** Asks every host now, and moves if the current one is no longer the newest. Never throws. */
  async ask(): Promise<void> {
    await Promise.all(this.#probes.map((probe) => probe.ask()));
    this.#choose();
  }

  /** Asks the hosts from now on. `onMoved` is called when every connection opened so far must be destroyed. */
  watch(onMoved: () => void): void {
    this.#onMoved = onMoved;
    this.#watch = setInterval(() => {
      // A host that does not respond must not delay the others.
      for (const probe of this.#probes) void probe.ask().then(() => this.#choose());
    }, WATCH_INTERVAL_MS);
  }

  close(): void {
    clearInterval(this.#watch);
    for (const probe of this.#probes) probe.close();
  }

  #choose(): void {
    if (this.#probes.length === 0) return;
    const timelines = this.#probes.map(({ state }) => timelineOf(state));
    this.#timeline = Math.max(this.#timeline, ...timelines);
    const newest = this.#probes.filter(({ state }) => timelineOf(state) === this.#timeline);
    const current = this.#probes.find(({ host }) => host === this.#current);
    if (current !== undefined && newest.includes(current)) return;
    const next = newest[0]?.host;
    // A host without a response may only be slow: the next query shows whether it can be used.
    if (next === undefined && current?.state.kind === 'silent') return;
    if (next === this.#current) return;
    this.#current = next;
    this.#onMoved();
  }

  /** Returns undefined where the host cannot be used, and adds the reason to `faults`. */
  async #tryOpen(
    host: Host | undefined,
    faults: Map<Host, unknown>,
  ): Promise<Connection | undefined> {
    if (host === undefined) return undefined;
    try {
      const connection = await this.#openSession(host);
      if (host === this.#current) return connection;
      connection.destroy();
      faults.set(host, new NotSent('was replaced by another host'));
    } catch (error) {
      faults.set(host, error);
    }
    return undefined;
  }

  /** An administrator may end a session while it is being opened; the server accepts the next one. */
  async #openSession(host: Host): Promise<Connection> {
    try {
      return await this.#openOnce(host);
    } catch (error) {
      const reasons = [error, (error as Error).cause];
      if (!reasons.some((reason) => stateOf(reason) === SESSION_ENDED)) throw error;
      return await this.#openOnce(host);
    }
  }

  async #openOnce(host: Host): Promise<Connection> {
    if (!this.#checked.has(host)) await requireOwnSession(this.#address, host);
    this.#checked.add(host);
    const connection = await openConnection(this.#address, host);
    try {
      await this.#past?.require(connection);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  /** Why a host with this state cannot be used; undefined if it can. */
  #faultOf(state: HostState): unknown {
    if (state.kind === 'silent') return state.error;
    if (state.kind === 'read_only') return readOnlyHost();
    if (state.timeline === this.#timeline) return undefined;
    return new NotSent(
      `was replaced by a newer primary (its timeline is ${state.timeline}, and ${this.#timeline} was seen): start the newer one, or restart this program to use the older one`,
    );
  }
}

function timelineOf(state: HostState): number {
  return state.kind === 'writable' ? state.timeline : -1;
}

/**
 * Opens the first connection of a program, which cannot start without it. Throws StoreUnusable where a setting is
 * wrong, and a Refusal where the database may be there later.
 */
export async function openFirst(hosts: Hosts): Promise<Connection> {
  try {
    return await hosts.open();
  } catch (error) {
    hosts.close();
    if (!(error instanceof NoHost)) throw error;
    const line = `the database cannot be used: ${error.message}.`;
    if (isWrongSetting(error.cause)) throw new StoreUnusable(line, { cause: error });
    throw new Refusal('unavailable', line);
  }
}

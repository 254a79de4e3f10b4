import { Refusal } from '../../domain/errors.ts';
import { StoreUnusable } from '../../domain/store.ts';
import type { Address, Host } from './address.ts';
import { ask, connect, openConnection, requireOwnSession, type Connection } from './connection.ts';
import { isWrongSetting, NoHost, NoResponse, NotSent, readOnlyHost, stateOf } from './errors.ts';

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
              THEN pg_walfile_name(pg_current_wal_lsn()) END,
         pg_is_in_recovery()`;

/** What one host last reported of itself. */
type HostState =
  | { kind: 'writable'; timeline: number }
  | { kind: 'read_only'; isStandby: boolean }
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
  const [name, isStandby] = row as [string | null, boolean];
  if (name === null) return { kind: 'read_only', isStandby };
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
  readonly address: Address;
  readonly #probes: HostProbe[];
  /** Whether connections to a host have sessions of their own. */
  readonly #checks = new Map<Host, Promise<void>>();
  #watch: NodeJS.Timeout | undefined;
  current: Host | undefined;
  /** The highest timeline seen on a host that took writes. */
  #timeline = 0;
  #onMoved = (): void => undefined;

  constructor(address: Address) {
    const { hosts } = address;
    this.address = address;
    this.#probes = hosts.length > 1 ? hosts.map((host) => new HostProbe(address, host)) : [];
    if (hosts.length === 1) this.current = hosts[0];
  }

  /** Calls `open` with the current host, and where that fails, with the one that has replaced it. */
  async reach<Result>(open: (host: Host) => Promise<Result>): Promise<Result> {
    const faults = new Map<Host, unknown>();
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const host = this.current;
      if (host !== undefined && !faults.has(host)) {
        try {
          return await this.#openAt(host, open);
        } catch (error) {
          faults.set(host, error);
        }
      }
      // The watch may have moved to another host meanwhile.
      if (attempt === 1 && this.current === host) await this.ask();
    }
    for (const probe of this.#probes) {
      const fault = faults.get(probe.host) ?? this.#faultOf(probe.state);
      if (fault !== undefined) faults.set(probe.host, fault);
    }
    throw new NoHost(faults, this.address);
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
    const current = this.#probes.find(({ host }) => host === this.current);
    if (current !== undefined && newest.includes(current)) return;
    const next = newest[0]?.host;
    // A host without a response may only be slow: the next query shows whether it can be used.
    if (next === undefined && current?.state.kind === 'silent') return;
    if (next === this.current) return;
    this.current = next;
    this.#onMoved();
  }

  /** An administrator may end a session while it is being opened; the server accepts the next one. */
  async #openAt<Result>(host: Host, open: (host: Host) => Promise<Result>): Promise<Result> {
    try {
      await this.#check(host);
      return await open(host);
    } catch (error) {
      if (!(error instanceof NoResponse) && stateOf(error) !== SESSION_ENDED) throw error;
      await this.#check(host);
      return await open(host);
    }
  }

  /** Once per process. Simultaneous callers share one check. */
  #check(host: Host): Promise<void> {
    return this.#checks.getOrInsertComputed(host, async () => {
      try {
        await requireOwnSession(this.address, host);
      } catch (error) {
        this.#checks.delete(host);
        throw error;
      }
    });
  }

  /** Why a host with this state cannot be used; undefined if it can. */
  #faultOf(state: HostState): unknown {
    if (state.kind === 'silent') return state.error;
    if (state.kind === 'read_only') return readOnlyHost(state.isStandby);
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
    return await hosts.reach((host) => openConnection(hosts.address, host));
  } catch (error) {
    hosts.close();
    if (!(error instanceof NoHost)) throw error;
    const line = `the database cannot be used: ${error.message}.`;
    if (isWrongSetting(error.cause)) throw new StoreUnusable(line, { cause: error });
    throw new Refusal('unavailable', line);
  }
}

import { DatabaseError, type Client } from 'pg';
import type { Address, Host } from './address.ts';
import { openClient } from './connection.ts';

const PROBE_TIMEOUT_MS = 2_000;

/** What one host said of itself when it was last asked. */
export type HostState =
  | { kind: 'writable'; timeline: number }
  | { kind: 'read_only' }
  | { kind: 'silent'; error: unknown };

/**
 * NULL where no writes are taken. Otherwise a name whose first 8 hexadecimal digits are the timeline, which
 * each promotion raises. pg_control_checkpoint() would tell the old timeline until the next checkpoint.
 */
const WAL_FILE = `
  SELECT CASE WHEN current_setting('transaction_read_only') = 'off'
              THEN pg_walfile_name(pg_current_wal_lsn()) END`;
const TIMELINE_DIGITS = 8;

/** Not every engine that speaks this protocol has the functions above. All its hosts are equally new. */
const READ_ONLY = `SELECT CASE WHEN current_setting('transaction_read_only') = 'off' THEN '0' END`;

/** Asks one host whether it takes writes, on a session of its own that stays open between the questions. */
export class HostProbe {
  readonly host: Host;
  state: HostState = { kind: 'silent', error: new Error('it was not asked yet') };
  readonly #address: Address;
  #client: Client | undefined;
  #asking: Promise<void> | undefined;
  #isClosed = false;

  constructor(address: Address, host: Host) {
    this.#address = address;
    this.host = host;
  }

  /** Brings `state` up to date; never throws. Callers at the same time share one question. */
  ask(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  async #ask(): Promise<void> {
    try {
      this.#client ??= await this.#connect();
      this.state = await readState(this.#client);
    } catch (error) {
      this.state = { kind: 'silent', error };
      this.#drop();
    }
    this.#asking = undefined;
    if (this.#isClosed) this.#drop();
  }

  async #connect(): Promise<Client> {
    const client = await openClient(this.#address, this.host, PROBE_TIMEOUT_MS);
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    return client;
  }

  #drop(): void {
    void this.#client?.end();
    this.#client = undefined;
  }
}

async function readState(client: Client): Promise<HostState> {
  let name: string | null;
  try {
    name = await readName(client, WAL_FILE);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    name = await readName(client, READ_ONLY);
  }
  if (name === null) return { kind: 'read_only' };
  return { kind: 'writable', timeline: Number.parseInt(name.slice(0, TIMELINE_DIGITS), 16) };
}

async function readName(client: Client, text: string): Promise<string | null> {
  const { rows } = await client.query<[string | null]>({ text, rowMode: 'array' });
  return rows[0]?.[0] ?? null;
}

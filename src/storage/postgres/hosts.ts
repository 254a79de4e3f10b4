import { StoreUnusable } from '../../domain/store.ts';
import type { Address, Host } from './address.ts';
import {
  openConnection,
  ReadOnlyServer,
  SeveralCatalogues,
  type Connection,
} from './connection.ts';
import { NotSent, stateOf } from './faults.ts';

const SESSION_ENDED = '57P01';

/** No host could be used. The message says of each one why. */
export class NoHost extends NotSent {
  constructor(faults: { host: Host; error: unknown }[], address: Address) {
    const reasons = faults.map(({ host, error }) => reasonOf(error, host, address)).join('; ');
    super(reasons, { cause: faults.at(-1)?.error });
    this.name = 'NoHost';
  }
}

/** Opens connections to whichever host can be written to, beginning with the one that could last. */
export class Hosts {
  readonly #address: Address;
  #preferred = 0;

  constructor(address: Address) {
    this.#address = address;
  }

  async open(): Promise<Connection> {
    const { hosts } = this.#address;
    const first = this.#preferred;
    const faults: { host: Host; error: unknown }[] = [];
    for (let step = 0; step < hosts.length; step += 1) {
      const index = (first + step) % hosts.length;
      const host = hosts[index];
      if (host === undefined) continue;
      try {
        const connection = await openSession(this.#address, host);
        this.#preferred = index;
        return connection;
      } catch (error) {
        faults.push({ host, error });
      }
    }
    throw new NoHost(faults, this.#address);
  }
}

/** A session may be ended by hand while it is being opened, by a server that would take the next one. */
async function openSession(address: Address, host: Host): Promise<Connection> {
  try {
    return await openConnection(address, host);
  } catch (error) {
    if (stateOf(error) !== SESSION_ENDED) throw error;
    return await openConnection(address, host);
  }
}

/** The first connection of a program: without it there is nothing to start with. */
export async function openFirst(hosts: Hosts): Promise<Connection> {
  try {
    return await hosts.open();
  } catch (error) {
    if (!(error instanceof NoHost)) throw error;
    throw new StoreUnusable(`the database cannot be used: ${error.message}.`, { cause: error });
  }
}

/** What is wrong with one host and what would be right, without the password. */
function reasonOf(error: unknown, { host, port }: Host, { user, database }: Address): string {
  const at = `${host}:${port}`;
  const name = user === undefined ? 'the user' : `the user ${user}`;
  const state = stateOf(error);
  const { code = '', message } = error as { code?: string; message: string };
  if (error instanceof ReadOnlyServer) {
    return `${at} takes no writes, as a standby does not: DATABASE_URL must also name the primary`;
  }
  if (error instanceof SeveralCatalogues) return `${at} ${message}`;
  if (state === '28P01' || state === '28000') {
    return `${at} does not let ${name} in (${message}): check the user and the password in DATABASE_URL`;
  }
  if (state === '3D000') {
    return `${at} has no database ${database}: create it (CREATE DATABASE), or name another in DATABASE_URL`;
  }
  if (state !== undefined) return `${at} answers "${message}" (${state})`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `the host ${host} is not known: check its name in DATABASE_URL`;
  }
  if (code === 'ECONNREFUSED') {
    return `nobody listens at ${at}: start PostgreSQL there, or name another host in DATABASE_URL`;
  }
  if (message.includes('SSL connections')) {
    return `${at} does not offer TLS: turn it on there, or say sslmode=disable in DATABASE_URL`;
  }
  return `${at} does not answer as PostgreSQL does (${message}): check the host and the port in DATABASE_URL`;
}

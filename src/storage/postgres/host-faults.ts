import type { Address, Host } from './address.ts';
import { ReadOnlyServer, SeveralCatalogues } from './connection.ts';
import { NotSent, stateOf } from './faults.ts';
import { SharedSessions } from './own-session.ts';

const TOO_MANY_CONNECTIONS = '53300';
/** PgBouncer says this under the state of a broken protocol; the driver, and we, when nothing comes. */
const NO_FREE_CONNECTION = /no more connections allowed|query_wait_timeout/;
const NO_RESPONSE = /no answer in time|timeout expired|Query read timeout|ETIMEDOUT/;

export interface HostFault {
  host: Host;
  error: unknown;
}

/** No host could be used. The message says of each one why. */
export class NoHost extends NotSent {
  constructor(faults: HostFault[], address: Address) {
    const reasons = faults.map(({ host, error }) => reasonOf(error, host, address)).join('; ');
    super(reasons, { cause: faults.at(-1)?.error });
    this.name = 'NoHost';
  }
}

/** A host that takes writes, though another was promoted since. */
export class ReplacedPrimary extends Error {
  constructor(timeline: number, newest: number) {
    super(`its timeline is ${timeline}, and ${newest} was seen`);
    this.name = 'ReplacedPrimary';
  }
}

/** What is wrong with one host and what would be right, without the password. */
function reasonOf(error: unknown, { host, port }: Host, { user, database }: Address): string {
  const at = `${host}:${port}`;
  const name = user === undefined ? 'the user' : `the user ${user}`;
  const state = stateOf(error);
  const { code = '', message } = error as { code?: string; message: string };
  if (error instanceof SeveralCatalogues) return `${at} ${message}`;
  if (error instanceof ReadOnlyServer) {
    return `${at} takes no writes, as a standby does not: DATABASE_URL must also name the primary`;
  }
  if (error instanceof ReplacedPrimary) {
    return `${at} was replaced by a newer primary (${message}): start the newer one, or restart this program to use the older one`;
  }
  if (error instanceof SharedSessions) {
    return `${at} is a pooler whose connections share sessions: it must give each its own, in PgBouncer with pool_mode = session`;
  }
  if (state === '28P01' || state === '28000') {
    return `${at} does not let ${name} in (${message}): check the user and the password in DATABASE_URL`;
  }
  if (state === '3D000') {
    return `${at} has no database ${database}: create it (CREATE DATABASE), or name another in DATABASE_URL`;
  }
  if (state === TOO_MANY_CONNECTIONS || NO_FREE_CONNECTION.test(message)) {
    return `${at} has no free connection (${message}): raise its limit (max_connections; in PgBouncer max_client_conn or default_pool_size), or let fewer programs use it`;
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
  if (NO_RESPONSE.test(message)) {
    return `${at} gives no response in time: check that it can be reached, that it is not overloaded, and that a pooler there has a free connection (in PgBouncer default_pool_size)`;
  }
  return `${at} does not answer as PostgreSQL does (${message}): check the host and the port in DATABASE_URL`;
}

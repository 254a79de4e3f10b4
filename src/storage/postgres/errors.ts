import { DatabaseError } from 'pg';
import type { Refusal } from '../../domain/errors.ts';
import { cannotTake, unavailable } from '../unavailable.ts';
import type { Address, Host } from './address.ts';

const ATTEMPTS_MAX = 5;

/** Nothing was sent, so nothing can have happened. */
export class NotSent extends Error {
  override name = 'NotSent';
}

/** The session is on a server that must not be used. The message follows the name of the host. */
export class WrongServer extends NotSent {
  override name = 'WrongServer';
}

/** No response came to what was sent: whether it was carried out is unknown. */
export class NoResponse extends Error {
  override name = 'NoResponse';
}

/**
 * What a failed statement means for its caller. Only `unknown` may have changed anything.
 *
 * - `repeatable`: it collided with another statement, and may succeed now.
 * - `stale_session`: it may succeed in a new session. The server has become read-only, or the session has
 *   not prepared the statement, or has prepared it for an older schema.
 * - `unknown`: the connection ended; the statement may or may not have been committed.
 * - `refused`: it was not carried out for another reason, and an immediate retry would not help.
 */
export type Fault = 'repeatable' | 'stale_session' | 'unknown' | 'refused';

const READ_ONLY = '25006';
const DISK_FULL = '53100';
export const RIGHT_MISSING = '42501';
/** Another session, such as a backup, uses the table. */
export const LOCK_NOT_AVAILABLE = '55P03';

const FAULT_OF_STATE: Record<string, Fault> = {
  '40001': 'repeatable', // serialization failure
  '40P01': 'repeatable', // deadlock
  [READ_ONLY]: 'stale_session',
  '0A000': 'stale_session', // cached plan must not change result type
  '26000': 'stale_session', // prepared statement does not exist
  '57P01': 'unknown', // the server is shutting down, or the session was ended by hand
  '57P02': 'unknown', // another session crashed
  '57P03': 'unknown', // starting up
  '57P05': 'unknown', // idle for too long
};

/** The class of all connection exceptions. */
const CONNECTION_EXCEPTION = '08';

export function faultOf(error: unknown): Fault {
  if (error instanceof NotSent) return 'refused';
  const state = stateOf(error);
  if (state === undefined || state.startsWith(CONNECTION_EXCEPTION)) return 'unknown';
  return FAULT_OF_STATE[state] ?? 'refused';
}

/** Whether the statement changed nothing and may succeed on the next connection from the pool. */
export function isRepeatable(fault: Fault): boolean {
  return fault === 'repeatable' || fault === 'stale_session';
}

/**
 * Calls `send` again, up to `ATTEMPTS_MAX` times in all, after a fault that `mayRetry` accepts. By default that is
 * one that has changed nothing: nothing may be stored or ended twice.
 */
export async function withRetries<Result>(
  send: () => Promise<Result>,
  mayRetry = isRepeatable,
  refuse = unavailable,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (attempt < ATTEMPTS_MAX && mayRetry(faultOf(error))) continue;
      throw refuse(error);
    }
  }
}

/** The same for a write: on a full disk, reads may still work. */
export function withRetriesOfWrite<Result>(send: () => Promise<Result>): Promise<Result> {
  return withRetries(send, isRepeatable, refusedWrite);
}

function refusedWrite(error: unknown): Refusal {
  return stateOf(error) === DISK_FULL ? cannotTake(error) : unavailable(error);
}

/** The SQLSTATE of an error from PostgreSQL; undefined for any other error. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** Whether the user of the session lacks a right. */
export function isRightMissing(error: unknown): boolean {
  return error instanceof Error && stateOf(error.cause) === RIGHT_MISSING;
}

/** Whether an animal has the id that another was to get. */
export function isIdTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  // Not the table: an index of somebody's own may refuse other values.
  return cause instanceof DatabaseError && cause.constraint === 'pets_pkey';
}

/** The host was reached and cannot be used with these settings. The message follows the host's name. */
export class UnusableHost extends Error {
  override name = 'UnusableHost';
}

export function readOnlyHost(isStandby: boolean): NotSent {
  const remedy = isStandby
    ? '(a standby): the database URL must also name the primary'
    : '(default_transaction_read_only is on): turn it off for the server, the database or the user';
  return new NotSent(`is read-only ${remedy}`);
}

/** No host could be used. The message says why, host by host. The cause is a wrong setting if there is one. */
export class NoHost extends NotSent {
  override name = 'NoHost';

  constructor(faults: ReadonlyMap<Host, unknown>, address: Address) {
    const reasons = [...faults].map(([host, error]) => reasonOf(error, host, address));
    const errors = [...faults.values()];
    super(reasons.join('; '), { cause: errors.find(isWrongSetting) ?? errors.at(-1) });
  }
}

/**
 * What will not end by waiting: the classes of SQLSTATE for a user, a password, a database, a right or a feature
 * that is not there (but not for a table or type that another start has just created), the codes of Node.js for a
 * certificate that is not accepted, and two messages of the driver.
 */
const WRONG_SETTING =
  /^(?:0A|28|3D|42(?!P07|710))\w{3} |^\w*CERT|^ERR_SSL|^UNABLE_TO_|client password must be|SSL connections/;

/** Otherwise the database or the network is down, and may come back. */
export function isWrongSetting(error: unknown): boolean {
  const { code = '', message } = error as { code?: string; message: string };
  return error instanceof UnusableHost || WRONG_SETTING.test(`${code} ${message}`);
}

const TOO_MANY_CONNECTIONS = '53300';
/**
 * PgBouncer reports the first two with the SQLSTATE of a protocol violation. The last is the pool's: all of its
 * connections were in use.
 */
const NO_FREE_CONNECTION =
  /no more connections allowed|query_wait_timeout|timeout exceeded when trying to connect/;
/** The message of a query without a response in time. */
export const OVERDUE = 'no response in time';
const TIMED_OUT = new RegExp(`timeout|${OVERDUE}|ETIMEDOUT`);

/** Whether a connection may become free soon. */
export function isFull(error: unknown): boolean {
  const isRefused = stateOf(error) === TOO_MANY_CONNECTIONS;
  return isRefused || NO_FREE_CONNECTION.test((error as Error).message);
}

/** What is wrong with one host and what would be right, without the password. */
function reasonOf(error: unknown, { host, port }: Host, { options }: Address): string {
  const { user, database } = options;
  const at = `${host}:${port}`;
  const name = user === undefined ? 'the user' : `the user ${user}`;
  const state = stateOf(error);
  const { code = '', message } = error as { code?: string; message: string };
  if (error instanceof UnusableHost || error instanceof NotSent) return `${at} ${message}`;
  if (state === READ_ONLY) return `${at} ${readOnlyHost(true).message}`;
  if (state === '28P01' || state === '28000') {
    return `${at} does not let ${name} in (${message}): check the user and the password in the database URL`;
  }
  if (state === '3D000') {
    return `${at} has no database ${database}: create it (CREATE DATABASE), or name another in the database URL`;
  }
  if (isFull(error)) {
    return `${at} has no free connection (${message}): raise its limit (max_connections; in PgBouncer max_client_conn or default_pool_size), or let fewer programs use it`;
  }
  if (state !== undefined) return `${at} responds with "${message}" (${state})`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `the host ${host} is not known: check its name in the database URL`;
  }
  if (code === 'ECONNREFUSED') {
    return `connection refused at ${at}: start PostgreSQL there, or name another host in the database URL`;
  }
  if (message.includes('client password must be')) {
    return `${at} needs a password for ${name}: add it to the file that PGPASSFILE names, or to the URL in DATABASE_URL, after the user and a colon`;
  }
  if (message.includes('SSL connections')) {
    return `${at} does not offer TLS: turn it on there, or set sslmode=disable in the database URL`;
  }
  if (/SELF_SIGNED|^UNABLE_TO_/.test(code)) {
    return `${at} has a certificate of an unknown authority (${message}): sslrootcert=FILE in the database URL must name the certificate of its authority`;
  }
  if (TIMED_OUT.test(message)) {
    return `${at} gives no response in time: check that it can be reached, that it is not overloaded, and that a pooler there has a free connection (in PgBouncer default_pool_size)`;
  }
  return `${at} does not respond as PostgreSQL does (${message}): check the host and the port in the database URL`;
}

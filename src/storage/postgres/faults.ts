import { DatabaseError } from 'pg';
import { Refusal } from '../../domain/errors.ts';

/** Nothing was sent, so that nothing can have happened. */
export class NotSent extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'NotSent';
  }
}

/** The connection had ended before anything was sent on it; another one may do. */
export class ConnectionGone extends NotSent {
  constructor() {
    super('the connection is gone');
    this.name = 'ConnectionGone';
  }
}

/** The connection gave no answer to what was sent: whether it happened is unknown. */
export class NoAnswer extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'NoAnswer';
  }
}

/**
 * What a failed statement means for the one who sent it:
 *
 * - `not_sent`: it never left, and there is no sense in trying again at once.
 * - `repeatable`: it collided with another, or met a dead connection, and left no trace; the same
 *   statement may succeed now.
 * - `read_only`: the server is no longer the one that takes writes; it left no trace.
 * - `stale_plan`: the session has not prepared the statement, or prepared it for a schema that was changed
 *   since; it left no trace, and a new session prepares it again.
 * - `unknown`: the connection ended; it may or may not have been committed.
 * - `faulty`: the values themselves are at fault; it left no trace and never will succeed.
 * - `refused`: the server said no for another reason; it left no trace.
 */
export type Fault =
  'not_sent' | 'repeatable' | 'read_only' | 'stale_plan' | 'unknown' | 'faulty' | 'refused';

const FAULT_OF_STATE: Record<string, Fault> = {
  '40001': 'repeatable', // serialization failure
  '40P01': 'repeatable', // deadlock
  '25006': 'read_only',
  '0A000': 'stale_plan', // cached plan must not change result type
  '26000': 'stale_plan', // prepared statement does not exist
  '57P01': 'unknown', // the server is shutting down, or the session was ended by hand
  '57P02': 'unknown', // another session crashed
  '57P03': 'unknown', // starting up
  '57P05': 'unknown', // idle for too long
};

const FAULT_OF_CLASS: Record<string, Fault> = {
  '08': 'unknown', // connection exceptions
  '22': 'faulty', // data exceptions
  '23': 'faulty', // constraint violations
};

export function faultOf(error: unknown): Fault {
  if (error instanceof ConnectionGone) return 'repeatable';
  if (error instanceof NotSent) return 'not_sent';
  const state = stateOf(error);
  if (state === undefined) return 'unknown';
  return FAULT_OF_STATE[state] ?? FAULT_OF_CLASS[state.slice(0, 2)] ?? 'refused';
}

/** Whether the statement left no trace and may succeed on a connection that the pool lends next. */
export function isRepeatable(fault: Fault): boolean {
  return fault === 'repeatable' || fault === 'read_only' || fault === 'stale_plan';
}

/** The five characters by which PostgreSQL names an error; undefined for what another part threw. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

export function unavailable(cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  return new Refusal('unavailable', 'The store cannot be reached right now; try again shortly.', {
    cause,
  });
}

export function overloaded(what: string): Refusal {
  return new Refusal('overloaded', `Too many ${what} are waiting; try again shortly.`);
}

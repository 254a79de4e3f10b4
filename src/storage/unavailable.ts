import { Refusal } from '../domain/errors.ts';

/** The refusal of a call that the store cannot serve now. A cause that is already a refusal is returned as it is. */
export function unavailable(cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  const message = 'The store is not available right now; try again shortly.';
  return new Refusal('unavailable', message, { cause });
}

/** The refusal of a write that the store cannot take while reads work, as on a full disk. */
export function cannotTake(cause: unknown): Refusal {
  const message = 'The store cannot take new animals or changes at the moment.';
  return new Refusal('unavailable', message, { cause });
}

import { Refusal } from '../../domain/errors.ts';

/** SQLite's own numbers for a file whose content is damaged, or is no database at all. */
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** Whether the file is damaged: nothing that is read from it or written to it can be relied on. */
export function isCorrupt(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  // The lowest byte is the kind of the fault, those above it tell more about it.
  const kind = errcode === undefined ? undefined : errcode & 0xff;
  return kind === CORRUPT || kind === NOT_A_DATABASE;
}

export function unavailable(cause: unknown): Refusal {
  return new Refusal('unavailable', 'The store is not available right now; try again shortly.', {
    cause,
  });
}

export function unreadable(cause: unknown): Refusal {
  return new Refusal('unavailable', 'The store cannot be read right now; try again shortly.', {
    cause,
  });
}

export function unwritable(cause: unknown): Refusal {
  return new Refusal('unavailable', 'The store cannot be written right now; try again shortly.', {
    cause,
  });
}

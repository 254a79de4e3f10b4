import type { NewPet } from '../../../../sdk/src/index.ts';
import { sha256 } from './sha256.ts';

const KEY_LENGTH = 32;

/**
 * The `Idempotency-Key` of a line is made from its values, so that the same list can be sent again: after a
 * stop, a reload, or with other lines corrected.
 */
export function lineKey(
  pet: NewPet,
  /** The number of this line among the identical ones of its list, from 1. */
  occurrence: number,
  /** How often the line was added again on purpose. */
  repetition: number,
): string {
  const facts = JSON.stringify([...valuesOf(pet), occurrence, repetition]);
  return sha256(facts).slice(0, KEY_LENGTH);
}

/** Counts the identical lines of a list: returns the number of each among them. */
export function newOccurrenceCounter(): (pet: NewPet) => number {
  const counts = new Map<string, number>();
  return (pet) => {
    const line = JSON.stringify(valuesOf(pet));
    const occurrence = (counts.get(line) ?? 0) + 1;
    counts.set(line, occurrence);
    return occurrence;
  };
}

/** A line without a status is the same as one with the default status. */
function valuesOf({ name, categoryId, status = 'available' }: NewPet): string[] {
  return [name, String(categoryId), status];
}

import { NotCheckable } from './verdict.ts';

// The specification names a day but no time zone. The day begins first at UTC+14 and ends last at UTC-12.
// Between these two times either behaviour is correct.
const SERVED_UNTIL = Date.parse('2030-12-04T10:00:00Z');
const REMOVED_FROM = Date.parse('2030-12-06T12:00:00Z');

/** The clauses about getPet apply only while the operation must exist. */
export function requireGetPet(now: Date): void {
  if (now.getTime() >= SERVED_UNTIL) {
    throw new NotCheckable('the operation was to be removed on 5 December 2030');
  }
}

export function requireRemovedGetPet(now: Date): void {
  if (now.getTime() < REMOVED_FROM) {
    throw new NotCheckable(
      'the day has not passed; until then GET /pets/{petId} exists, see Endpoints',
    );
  }
}

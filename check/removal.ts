import { NotCheckable } from './verdict.ts';

// The specification names a day but no time zone: the day begins first where the clock is 14 hours
// ahead of UTC, and ends last where it is 12 hours behind. In between either behaviour is right.
const SERVED_UNTIL = Date.parse('2030-12-04T10:00:00Z');
const REMOVED_FROM = Date.parse('2030-12-06T12:00:00Z');

/** The clauses about getPet hold only as long as the operation has to be there. */
export function needGetPet(now: Date): void {
  if (now.getTime() >= SERVED_UNTIL) {
    throw new NotCheckable('the operation was to be removed on 5 December 2030');
  }
}

export function needRemovedGetPet(now: Date): void {
  if (now.getTime() < REMOVED_FROM) {
    throw new NotCheckable(
      'the day has not passed; until then GET /pets/{petId} is still served, see Endpoints',
    );
  }
}

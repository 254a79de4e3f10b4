/** The moment by which something must be settled, on the clock that timers run on. */
export type Deadline = number;

export function deadlineIn(milliseconds: number): Deadline {
  return performance.now() + milliseconds;
}

/** What a timer can be set to: 0 once the deadline has passed. */
export function timeLeftMs(deadline: Deadline): number {
  return Math.max(0, deadline - performance.now());
}

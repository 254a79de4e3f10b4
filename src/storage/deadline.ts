/** The time by which something must be settled, on the clock of `performance.now()`. */
export type Deadline = number;

/** Every call of a store is settled within this time, plus the delay of the event loop. */
export const CALL_TIMEOUT_MS = 4_000;

export function deadlineIn(milliseconds: number): Deadline {
  return performance.now() + milliseconds;
}

/** 0 once the deadline has passed. */
export function timeLeftMs(deadline: Deadline): number {
  return Math.max(0, deadline - performance.now());
}

/**
 * Calls `onPassed` once the deadline has passed without a response. Returns a function that cancels the call.
 *
 * After a process was stopped or starved, its timers run before it reads the responses that have arrived
 * meanwhile. So the call comes one turn of the event loop after the timer.
 */
export function atDeadline(deadline: Deadline, onPassed: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    immediate = setImmediate(onPassed);
  }, timeLeftMs(deadline));
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

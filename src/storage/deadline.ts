/** A timer that is later than this shows that this process was slow, and not what it waits for. */
const LATE_MS = 50;

/** The time by which something must be settled, on the clock of `performance.now()`. */
export type Deadline = number;

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
 * meanwhile. So the call comes one turn of the event loop after the timer. A stall is not counted as time to
 * respond, but at most doubles it.
 */
export function atDeadline(deadline: Deadline, onPassed: () => void): () => void {
  let extensionMs = timeLeftMs(deadline);
  let dueMs = deadline;
  let immediate: NodeJS.Immediate | undefined;
  const check = () => {
    const lateMs = Math.min(performance.now() - dueMs, extensionMs);
    if (lateMs < LATE_MS) {
      immediate = setImmediate(onPassed);
      return;
    }
    extensionMs -= lateMs;
    dueMs = performance.now() + lateMs;
    timer = setTimeout(check, lateMs);
  };
  let timer = setTimeout(check, extensionMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

/** Time. Passed in, so that a test can run before and after a date. */
export interface Clock {
  now(): Date;
  /** Milliseconds since an arbitrary start. Never decreases. */
  elapsedMs(): number;
}

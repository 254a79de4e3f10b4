/** Time, passed in so that a test can stand on both sides of a date. */
export interface Clock {
  now(): Date;
  /** Milliseconds since an arbitrary start; never goes back. */
  elapsedMs(): number;
}

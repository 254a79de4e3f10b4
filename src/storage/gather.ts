/** No commit waits longer than this for company. */
const GATHER_MS_MAX = 3;

/**
 * How long the next commit should wait for those who were just answered and will be back: where several
 * write at once, half as long as the last commit took, so that a slow disk or network is asked less often.
 */
export function gatherMs(lastBatch: { writes: number; tookMs: number }): number {
  return lastBatch.writes > 1 ? Math.min(lastBatch.tookMs / 2, GATHER_MS_MAX) : 0;
}

/** Waits that long; at least to the end of this turn of the event loop, so that what it brings goes together. */
export function gather(waitMs: number, goOn: () => void): void {
  if (waitMs < 1) setImmediate(goOn);
  else setTimeout(goOn, waitMs);
}

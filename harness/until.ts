import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS_MAX = 60_000;
const POLL_MS = 10;

/** Waits until it is true. If that takes too long, the test fails with `what`. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  waitMsMax = WAIT_MS_MAX,
): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadlineMs, what);
    await sleep(POLL_MS);
  }
}

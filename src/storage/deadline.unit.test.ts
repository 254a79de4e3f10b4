import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { atDeadline, deadlineIn } from './deadline.ts';

/** Stops this thread, as a machine does that gives it no processor time. */
function stall(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test('a response that arrived while the process stalled is in time', async () => {
  const { port1, port2 } = new MessageChannel();
  let isPassed = false;
  const cancel = atDeadline(deadlineIn(20), () => (isPassed = true));
  port2.once('message', cancel);
  const received = once(port2, 'message');
  port1.postMessage('response');
  stall(200);
  await received;
  await new Promise(setImmediate);
  port1.close();
  assert.equal(isPassed, false);
});

test('a deadline that has passed before is reported', async () => {
  await new Promise<void>((resolve) => {
    atDeadline(deadlineIn(-10), resolve);
  });
});

test('a deadline that is cancelled is not reported', async () => {
  let isPassed = false;
  atDeadline(deadlineIn(-10), () => (isPassed = true))();
  await new Promise<void>((resolve) => {
    atDeadline(deadlineIn(20), resolve);
  });
  assert.equal(isPassed, false);
});

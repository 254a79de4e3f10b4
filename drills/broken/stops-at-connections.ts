// Breaks the service for all while others connect: each new connection stops the process for a few milliseconds.

import { intercept } from './intercept.ts';

const STOP_MS = 60;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
intercept((event) => {
  if (event === 'connection') Atomics.wait(never, 0, 0, STOP_MS);
  return false;
});

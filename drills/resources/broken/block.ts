// Breaks the refusals: one in a hundred blocks the process for 50 ms, so that lists wait.

import { Batcher } from '../../../src/storage/batcher.ts';

const BLOCK_EVERY = 100;
const BLOCK_MS = 50;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
let refused = 0;
const add = Reflect.get(Batcher.prototype, 'add');
Batcher.prototype.add = async function (this: Batcher<unknown, unknown>, item: unknown) {
  try {
    return await add.call(this, item);
  } catch (error) {
    refused += 1;
    if (refused % BLOCK_EVERY === 0) Atomics.wait(never, 0, 0, BLOCK_MS);
    throw error;
  }
};

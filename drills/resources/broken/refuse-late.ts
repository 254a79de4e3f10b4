// Breaks the refusals: each one waits 5 seconds.

import { setTimeout as sleep } from 'node:timers/promises';
import { Batcher } from '../../../src/storage/batcher.ts';

const LATE_MS = 5_000;

const add = Reflect.get(Batcher.prototype, 'add');
Batcher.prototype.add = async function (this: Batcher<unknown, unknown>, item: unknown) {
  try {
    return await add.call(this, item);
  } catch (error) {
    await sleep(LATE_MS);
    throw error;
  }
};

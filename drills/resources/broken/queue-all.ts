// Breaks the limit of the waiting time: a create that would be refused waits until it is accepted.

import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../../src/domain/errors.ts';
import { Batcher } from '../../../src/storage/batcher.ts';

const RETRY_MS = 5;

const add = Reflect.get(Batcher.prototype, 'add');
Batcher.prototype.add = async function (this: Batcher<unknown, unknown>, item: unknown) {
  for (;;) {
    try {
      return await add.call(this, item);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'overloaded') throw error;
      await sleep(RETRY_MS);
    }
  }
};

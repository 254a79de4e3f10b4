import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Portion } from '../domain/rate-limit.ts';
import { Primary, type PrimaryMessage } from './worker-channel.ts';

function portionOf(requests: number, left: number): Portion {
  return { requests, left, endsInMs: 60_000 };
}

/** A worker that asks a primary. The test reads what it sends, and replies for the primary. */
function openWorker(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: unknown[] = [];
  process.send = (message: unknown) => sent.push(message) > 0;
  const before = process.listeners('message');
  const primary = new Primary();
  const [listener] = process.listeners('message').filter((each) => !before.includes(each));
  t.after(() => {
    if (listener !== undefined) process.off('message', listener);
    delete process.send;
  });
  const takePortion = (keyId: string) => primary.takePortion(keyId);
  return { sent, takePortion, reply: (message: PrimaryMessage) => listener?.(message, undefined) };
}

test('rate limit: a worker asks its primary once per key, and takes each reply as that of its key', async (t) => {
  const { sent, takePortion, reply } = openWorker(t);
  const [a, b] = [takePortion('a'), takePortion('b')];
  await assert.rejects(takePortion('a'), {
    code: 'unavailable',
    cause: 'the primary did not reply in time',
  });
  assert.deepEqual(sent, [{ portionOf: 'a' }, { portionOf: 'b' }]);
  reply('go');
  reply({ portionOf: 'b', portion: portionOf(1, 2) });
  reply({ portionOf: 'c', portion: portionOf(5, 6) });
  reply({ portionOf: 'a', portion: portionOf(3, 4) });
  assert.deepEqual([await a, await b], [portionOf(3, 4), portionOf(1, 2)]);
});

test('rate limit: a worker waits 5 seconds for its primary, and asks again only after the reply', async (t) => {
  const { sent, takePortion, reply } = openWorker(t);
  const refused = assert.rejects(takePortion('a'), { code: 'unavailable' });
  t.mock.timers.tick(5_000);
  await refused;
  await assert.rejects(takePortion('a'), { code: 'unavailable' });
  assert.equal(sent.length, 1);
  reply({ portionOf: 'a', portion: portionOf(1, 2) });
  const again = takePortion('a');
  assert.equal(sent.length, 2);
  reply({ portionOf: 'a', portion: portionOf(3, 4) });
  assert.deepEqual(await again, portionOf(3, 4));
});

// Random streams of bytes: pipelines of every kind of request, and malformed ones among them. The drill `streams` searches
// with the same streams.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAll } from '../../harness/client.ts';
import { newRandom } from '../../harness/random.ts';
import { exchange, judge, newStream, SMUGGLED_NAME } from '../../harness/streams.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';

const STREAMS = 300;
const CONNECTIONS = 8;
const SEED = 20_261_118;

test(`${STREAMS} random streams get exactly their responses, in order, and what is refused stores nothing`, async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const etag = String((await service.send('/pets?status=sold')).headers['etag']);
  const port = Number(new URL(service.baseUrl).port);
  let sent = 0;
  let created = 0;
  const sendStreams = async () => {
    while (sent < STREAMS) {
      const seed = SEED + (sent += 1);
      const stream = newStream(newRandom(seed), { key: service.key, etag }, `m${seed}`);
      const { responses, problems } = judge(stream, await exchange(port, stream));
      assert.deepEqual(problems, [], `seed ${seed}`);
      created += responses.filter(({ status }) => status === 201).length;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendStreams));
  const stored = await listAll(service);
  assert.equal(stored.length, created);
  assert.ok(stored.every(({ name }) => name !== SMUGGLED_NAME));
});

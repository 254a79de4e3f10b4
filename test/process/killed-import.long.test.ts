// A list that is added in the console is sent again after the process was killed, as a person does whose page got no
// response. The moment after the commit is that of a lost response.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, listAll } from '../../harness/client.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { openPostgresStorage } from '../../harness/postgres-storage.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { sqliteStorage, type TestStorage } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';
import { newSecret } from '../../src/domain/api-key.ts';

const ANIMALS = 3_000;
/** When the process is killed, as a part of the time that a list takes; or as soon as its animals can be seen. */
const MOMENTS = [0.3, 0.6, 0.9, 'visible'] as const;

const postgres = await openPostgresStorage();
after(() => postgres.close());

function listNamed(name: string): string {
  const lines = Array.from({ length: ANIMALS }, (_, at) => `${name}-${at},${at}\n`);
  return `name,categoryId\n${lines.join('')}`;
}

/** What the service says about a list that is sent as a whole, and its response read. */
async function add({ baseUrl, key }: ServiceProcess, list: string): Promise<unknown> {
  const client = new Client(key);
  const url = `${baseUrl.replace(/v1$/, '')}console/import`;
  const headers = { 'Content-Type': 'text/csv' };
  const { status, body } = await client.send(url, { method: 'POST', headers, body: list });
  client.close();
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

/** Sends a list, and never reads the response. */
function send({ port, key }: ServiceProcess, list: string): void {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const length = Buffer.byteLength(list);
  socket.write(
    `POST /console/import HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${length}\r\n\r\n${list}`,
  );
}

function killedImportTests(storage: TestStorage): void {
  test(
    `${storage.name}: a list whose process is killed, sent again, adds no animal twice (D45)`,
    { skip: NEEDS_LINUX },
    async () => {
      const database = await storage.newDatabase();
      const { flags } = database;
      const key = newSecret('production', randomBytes);
      let service = await ServiceProcess.start({ key, flags });
      const begunMs = performance.now();
      assert.deepEqual(await add(service, listNamed('first')), {
        added: ANIMALS,
        faultyLines: '',
      });
      const wholeMs = performance.now() - begunMs;
      for (const moment of MOMENTS) {
        const list = listNamed(`killed at ${moment}`);
        send(service, list);
        if (moment === 'visible') {
          await until('the list is committed', async () => {
            const newest = await listAll(service, '/pets?limit=1&cursor=last');
            return newest.some(({ name }) => list.includes(name));
          });
        } else {
          await sleep(moment * wholeMs);
        }
        await service.kill();
        service = await ServiceProcess.start({ key, flags });
        const outcome = await add(service, list);
        const wasThere = { addedBefore: { animals: ANIMALS, skipped: 0 } };
        if (moment === 'visible') {
          assert.deepEqual(outcome, { added: 0, ...wasThere, faultyLines: '' });
        }
      }
      // Four people at once.
      const list = listNamed('by four');
      const outcomes = await Promise.all(Array.from({ length: 4 }, () => add(service, list)));
      const added = outcomes.map((each) => (each as { added: number }).added);
      assert.deepEqual(
        added.toSorted((a, b) => a - b),
        [0, 0, 0, ANIMALS],
      );
      const names = (await listAll(service)).map(({ name }) => name);
      assert.equal(names.length, (MOMENTS.length + 2) * ANIMALS);
      assert.equal(new Set(names).size, names.length);
      assert.deepEqual(await service.stop(), []);
      await database.remove();
    },
  );
}

killedImportTests(sqliteStorage);
killedImportTests(postgres);

// docs/architecture.md names the files that run for a request. These tests compare it with what really ran.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { test } from 'node:test';
import { Client } from '../../harness/client.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';

const SOURCE = new URL('../../src/', import.meta.url).href;
const DOCUMENT = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
const WARM_UPS = 20;
const MEASURED = 9;

/** The files in `src/` with a function that has run in this thread since the last call. */
async function takeFiles(session: Session): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .filter(({ url }) => url.startsWith(SOURCE))
    .map(({ url }) => url.replace(SOURCE, 'src/'));
}

for (const method of ['POST', 'GET']) {
  test(`docs/architecture.md names every file that runs for one ${method} /v1/pets, and no other`, async (t) => {
    const service = await startTestService(sqliteStorage, { logLevel: 'info' });
    t.after(() => service.close());
    const session = new Session();
    session.connect();
    t.after(() => session.disconnect());
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    // All requests use one connection, because the files for a new connection are not part of a request.
    const client = new Client(service.key);
    t.after(() => client.close());

    const runs = new Map<string, number>();
    for (let number = 1; number <= WARM_UPS + MEASURED; number += 1) {
      await takeFiles(session);
      // A different page each time, so that none comes from the cache.
      const { status } =
        method === 'POST'
          ? await client.create(service.baseUrl, `animal-${number}`, { isClaimed: false })
          : await client.get(`${service.baseUrl}/pets?limit=${number}`);
      assert.ok(status < 300);
      const files = number > WARM_UPS ? await takeFiles(session) : [];
      for (const file of files) runs.set(file, (runs.get(file) ?? 0) + 1);
    }
    // A file counts if it ran for most requests: a timer may run other files, or run a check instead of a request.
    const files = [...runs.keys()].filter((file) => (runs.get(file) ?? 0) > MEASURED / 2);
    const section = DOCUMENT.split(/^## /m).find((each) => each.startsWith(`One \`${method} `));
    const listed = [...String(section).matchAll(/^\d+\. `(src\/[^`]+)`/gm)];
    assert.deepEqual(files.toSorted(), listed.map(([, file = '']) => file).toSorted());
  });
}

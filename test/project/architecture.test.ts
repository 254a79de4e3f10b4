// docs/architecture.md names the files that run for a request. These tests compare it with what really ran.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, type ClientResponse } from '../../harness/client.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const WARM_UPS = 20;
const MEASURED = 9;

/** The files in `src/` with a function that has run in this thread since the last call. */
function takeFiles(session: Session): Promise<string[]> {
  return new Promise((resolve, reject) => {
    session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error === null) resolve(result.filter(hasRun).map(fileOf).filter(isSource).toSorted());
      else reject(error);
    });
  });
}

const hasRun = ({ functions }: Profiler.ScriptCoverage) =>
  functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
const fileOf = ({ url }: Profiler.ScriptCoverage) =>
  url.startsWith('file:') ? relative(root, fileURLToPath(url)) : '';
const isSource = (file: string) => file.startsWith('src/');

/** The files that a section of the document lists, one per numbered line. */
function documented(heading: string): string[] {
  const text = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(heading)) ?? '';
  return [...section.matchAll(/^\d+\. `(src\/[^`]+)`/gm)].map(([, file = '']) => file).toSorted();
}

const WALKS: [
  heading: string,
  send: (client: Client, baseUrl: string, number: number) => Promise<ClientResponse>,
][] = [
  [
    'One `POST /v1/pets`',
    (client, baseUrl, number) => client.create(baseUrl, `animal-${number}`, { isClaimed: false }),
  ],
  // A different page each time, so that none comes from the cache.
  [
    'One `GET /v1/pets`',
    (client, baseUrl, number) => client.get(`${baseUrl}/pets?limit=${number + 1}`),
  ],
];

for (const [heading, send] of WALKS) {
  test(`docs/architecture.md, ${heading}: names every file that runs, and no other`, async (t) => {
    const service = await startTestService(sqliteStorage, { logLevel: 'info' });
    t.after(() => service.close());
    const session = new Session();
    session.connect();
    t.after(() => session.disconnect());
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    // All requests use one connection, because the files for a new connection are not part of a request.
    const client = new Client(service.key);
    t.after(() => client.close());

    const runs: Set<string>[] = [];
    for (let number = 0; number < WARM_UPS + MEASURED; number += 1) {
      await takeFiles(session);
      const { status } = await send(client, service.baseUrl, number);
      assert.ok(status === 200 || status === 201);
      if (number >= WARM_UPS) runs.push(new Set(await takeFiles(session)));
    }
    // A file counts if it ran for most requests: a timer may run other files, or run a check instead of a request.
    const seen = [...new Set(runs.flatMap((run) => [...run]))];
    const files = seen.filter((file) => runs.filter((run) => run.has(file)).length > MEASURED / 2);
    assert.deepEqual(files.toSorted(), documented(heading));
  });
}

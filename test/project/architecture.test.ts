// docs/architecture.md names the files that run for a request, and draws the imports. These tests compare it with the program.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../../harness/client.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';

const ROOT = join(import.meta.dirname, '../..');
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

/** The files of `src/` that belong to a part with another name. */
const PARTS: Readonly<Record<string, string>> = {
  admin: 'service',
  listen: 'service',
  'open-store': 'service',
  setting: 'config',
};

/** The part of the program that a file belongs to. */
function partOf(file: string): string {
  const [top = '', folder = ''] = file.replaceAll('\\', '/').split('/');
  if (top !== 'src') return top;
  if (!folder.endsWith('.ts')) return folder;
  const name = folder.replace('.ts', '');
  return PARTS[name] ?? name;
}

test('docs/architecture.md draws every import between two parts of the program, and each goes down', () => {
  const section = String(DOCUMENT.split(/^## /m).find((each) => each.startsWith('The rule')));
  const arrows = [...section.matchAll(/^  ([\w-]+) --> ([\w-]+(?: & [\w-]+)*)$/gm)];
  const drawn = arrows.flatMap(([, from = '', to = '']) => {
    return to.split(' & ').map((each) => `${from} --> ${each}`);
  });
  const found = new Set<string>();
  const files = globSync(['src/**/*.ts', 'sdk/src/*.ts', 'check/**/*.ts'], { cwd: ROOT });
  for (const file of files.filter((each) => !/\.(?:test|contract)\.ts$/.test(each))) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, imported = ''] of text.matchAll(/ from '(\.[^']+\.ts)'/g)) {
      const [from, to] = [partOf(file), partOf(join(dirname(file), imported))];
      if (from !== to) found.add(`${from} --> ${to}`);
    }
  }
  assert.deepEqual([...found].toSorted(), drawn.toSorted());
  const order = arrows.map(([, from = '']) => from);
  for (const arrow of drawn) {
    const [from = '', to = ''] = arrow.split(' --> ');
    assert.ok(!order.includes(to) || order.indexOf(to) > order.indexOf(from), `${arrow} goes up`);
  }
});

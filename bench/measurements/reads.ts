import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { animalJson, storeFileOf } from '../animals.ts';
import { alternate, recordResponse, withContenders, type Bench, type Row } from '../bench.ts';
import type { Load } from '../generator.ts';
import { newCursor } from '../../src/domain/page.ts';
import { bare, bareSqlite, jsonServer, petstore, typical } from '../recipes.ts';
import { throughputRow } from '../row.ts';

const SMALL_COUNT = 1_000;
const LARGE_COUNT = 100_000;
/** More pages than the service caches, so that no request finds its page in the cache. */
const DIFFERENT_PAGES = 60_000;

export const LIST: Load = { method: 'GET', paths: ['/v1/pets'] };

/** Requests the default page repeatedly, so that it is cached. */
export async function measureList(bench: Bench): Promise<Row[]> {
  const what = 'list, default page';
  const serviceFolder = await bench.stores.folderWith(SMALL_COUNT);
  const otherFolder = await bench.stores.folderWith(SMALL_COUNT);
  const databaseFile = join(bench.folder, 'json-server.json');
  const pets = Array.from({ length: SMALL_COUNT }, (_, index) => animalJson(index + 1));
  writeFileSync(databaseFile, JSON.stringify({ pets }));

  return withContenders(bench, [petstore(serviceFolder)], async (service) => {
    if (service === undefined) return [];
    const response = await recordResponse(bench, service, '/v1/pets');
    const others = [bare(response), typical(storeFileOf(otherFolder)), jsonServer(databaseFile)];
    return withContenders(bench, others, async (limit, stack, json) => {
      if (limit === undefined || stack === undefined || json === undefined) return [];
      const [of, bareResults, typicalResults, jsonResults] = await alternate(bench, what, [
        { contender: service, load: LIST },
        { contender: limit, load: LIST },
        { contender: stack, load: LIST },
        { contender: json, load: { method: 'GET', paths: ['/pets?_limit=20'] } },
      ]);
      return [
        { bound: { atLeast: 0.93 }, unit: '× bare', against: bareResults },
        { bound: { atLeast: 2.5 }, unit: '× typical', against: typicalResults },
        { bound: { atLeast: 10 }, unit: '× json-server', against: jsonResults },
      ].map((parts) => throughputRow({ what: `${what}, repeated`, of, keepsBusy: true, ...parts }));
    });
  });
}

/** Uses a different cursor for each request, so that no response comes from the cache. */
export async function measureCursors(bench: Bench): Promise<Row[]> {
  const what = 'list, a different cursor per request';
  const serviceFolder = await bench.stores.folderWith(LARGE_COUNT);
  const otherFolder = await bench.stores.folderWith(LARGE_COUNT);
  const afterIds = Array.from({ length: DIFFERENT_PAGES }, (_, index) => (index * 7_919) % 99_900);
  const recipes = [petstore(serviceFolder), bareSqlite(storeFileOf(otherFolder))];
  return withContenders(bench, recipes, async (service, direct) => {
    if (service === undefined || direct === undefined) return [];
    const cursors = afterIds.map((id) => `/v1/pets?cursor=${newCursor(BigInt(id), undefined)}`);
    const [of, against] = await alternate(bench, what, [
      { contender: service, load: { method: 'GET', paths: cursors } },
      {
        contender: direct,
        load: { method: 'GET', paths: afterIds.map((id) => `/pets?after=${id}`) },
      },
    ]);
    return [
      throughputRow({
        what,
        bound: { atLeast: 1 },
        unit: '× bare-sqlite',
        of,
        against,
        keepsBusy: true,
      }),
    ];
  });
}

/** Requests a thousand animals, one after the other. */
export async function measureGet(bench: Bench): Promise<Row[]> {
  const what = 'get, 1,000 animals in turn';
  const folder = await bench.stores.folderWith(SMALL_COUNT);
  const paths = Array.from({ length: SMALL_COUNT }, (_, index) => `/v1/pets/${index + 1}`);
  return withContenders(bench, [petstore(folder)], async (service) => {
    if (service === undefined) return [];
    const response = await recordResponse(bench, service, '/v1/pets/500');
    return withContenders(bench, [bare(response)], async (limit) => {
      if (limit === undefined) return [];
      const load: Load = { method: 'GET', paths };
      const [of, against] = await alternate(bench, what, [
        { contender: service, load },
        { contender: limit, load },
      ]);
      return [
        throughputRow({
          what,
          bound: { atLeast: 0.8 },
          unit: '× bare',
          of,
          against,
          keepsBusy: true,
        }),
      ];
    });
  });
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { alternate, recordResponse, withContenders, type Bench, type Row } from '../bench.ts';
import { bare, petstore } from '../recipes.ts';
import { throughputRow } from '../row.ts';
import { LIST } from './reads.ts';

const ANIMAL_COUNT = 1_000;

/** Compares the service without a collector, and with one that gets a trace of every request, with `bare`. */
export async function measureTraces(bench: Bench): Promise<Row[]> {
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  const settings = ['--otlp-endpoint', `http://127.0.0.1:${port}`];
  const [folder, tracedFolder] = [
    await bench.stores.folderWith(ANIMAL_COUNT),
    await bench.stores.folderWith(ANIMAL_COUNT),
  ];
  const recipes = [petstore(folder), petstore(tracedFolder, settings)];
  try {
    return await withContenders(bench, recipes, async (service, traced) => {
      if (service === undefined || traced === undefined) return [];
      const response = await recordResponse(bench, service, '/v1/pets');
      return withContenders(bench, [bare(response)], async (limit) => {
        if (limit === undefined) return [];
        const runs = [service, traced, limit].map((contender) => ({ contender, load: LIST }));
        const [without, every, against] = await alternate(bench, 'list, traces', runs);
        return [
          { what: 'list, no collector for traces', bound: { atLeast: 0.85 }, of: without },
          { what: 'list, a trace of every request', bound: { atLeast: 0.3 }, of: every },
        ].map((parts) => throughputRow({ unit: '× bare', against, keepsBusy: true, ...parts }));
      });
    });
  } finally {
    collector.close();
    collector.closeAllConnections();
  }
}

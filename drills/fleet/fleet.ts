import { randomBytes } from 'node:crypto';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Client, type WirePet } from '../client.ts';
import { Reader } from './reader.ts';
import { ServiceProcess } from '../service-process.ts';

const CLIENTS = 16;
/** Every third create carries an Idempotency-Key, because another statement stores those. */
const CLAIMED_EVERY = 3;

export interface FleetReport {
  acknowledged: number;
  loadSeconds: number;
  /** How many animals the reader had seen when the last create was acknowledged. */
  seenDuringLoad: number;
  seen: number;
  pages: number;
  violations: string[];
}

export interface FleetOptions {
  processes: number;
  animals: number;
  isDurable: boolean;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[] | undefined;
  onProgress?: (acknowledged: number, seen: number) => void;
}

/**
 * Runs several processes on one database. Clients create animals through all of them while a reader follows
 * the list. The reader must see every animal once, in ascending order of ids.
 */
export async function drillFleet(options: FleetOptions): Promise<FleetReport> {
  const key = newSecret('production', randomBytes);
  await using data = await temporaryFolder();
  const database = await PostgresServer.start({ isDurable: options.isDurable });
  try {
    const flags = ['--data', data.path, '--database', database.url(), '--log', 'silent'];
    // They start at the same time on an empty database: one must create the tables and the first key.
    const services = await Promise.all(
      Array.from({ length: options.processes }, () =>
        ServiceProcess.start(flags, key, undefined, options.nodeFlags),
      ),
    );
    const baseUrls = services.map(({ baseUrl }) => baseUrl);
    const report = await createAndFollow(baseUrls, key, options);
    const ends = await Promise.all(services.map((service) => service.stop()));
    return { ...report, violations: [...report.violations, ...ends.flat()] };
  } finally {
    await database.close();
  }
}

async function createAndFollow(
  baseUrls: readonly string[],
  key: string,
  { animals, onProgress }: FleetOptions,
): Promise<FleetReport> {
  const acknowledged = new Map<string, number>();
  const violations: string[] = [];
  const load = { begun: 0, isOver: false };
  const create = async () => {
    const client = new Client(key);
    while (load.begun < animals) {
      const number = load.begun;
      load.begun += 1;
      const name = `animal-${number}`;
      const baseUrl = baseUrls[number % baseUrls.length] ?? '';
      const isClaimed = number % CLAIMED_EVERY === 0;
      const { status, body } = await client.create(baseUrl, name, { isClaimed });
      if (status === 201) acknowledged.set(name, (JSON.parse(body) as WirePet).id);
      else violations.push(`creating ${name} returned ${status} ${body}`);
      onProgress?.(acknowledged.size, reader.seen.size);
    }
    client.close();
  };
  const reader = new Reader(baseUrls, key);
  const following = reader.follow(() => load.isOver);
  const began = performance.now();
  await Promise.all(Array.from({ length: CLIENTS }, create));
  const loadSeconds = (performance.now() - began) / 1_000;
  const seenDuringLoad = reader.seen.size;
  load.isOver = true;
  await following;
  return {
    acknowledged: acknowledged.size,
    loadSeconds,
    seenDuringLoad,
    seen: reader.seen.size,
    pages: reader.pages,
    violations: [...violations, ...reader.violations, ...compare(acknowledged, reader.seen)],
  };
}

/** The reader must have seen every acknowledged animal, and no other. */
function compare(acknowledged: Map<string, number>, seen: Map<string, number>): string[] {
  const lost = [...acknowledged].filter(([name, id]) => seen.get(name) !== id);
  const unexpected = [...seen.keys()].filter((name) => !acknowledged.has(name));
  return [
    ...lost.map(
      ([name, id]) => `${name} was acknowledged with id ${id} and read with id ${seen.get(name)}`,
    ),
    ...unexpected.map((name) => `${name} was read but never acknowledged`),
  ];
}

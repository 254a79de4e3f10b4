import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { startBareServer } from './bare-server.ts';
import { judge, type Phase } from './judgement.ts';
import { LoadThread } from './open-loop.ts';

// The store is as slow as the drill makes it, and not as this disk is.
await import('../../harness/memory-folder.ts');

/**
 * What the slowed store takes, what is sent to it without congestion, and with. Two cores can handle it twice, by the
 * service and by the bare server: with more, the processor would be congested and not the store.
 */
const CAPACITY_PER_SECOND = 500;
const NORMAL_PER_SECOND = 400;
const OFFERED_PER_SECOND = 2_500;
const LISTS_PER_SECOND = 200;
/** At most: a short run has a short time before and after. */
const NORMAL_SECONDS_MAX = 10;
const SETTLE_SECONDS = 2;
/** Until the code that refuses requests is compiled. */
const WARM_UP_SECONDS = 4;
/** Each animal costs 2 ms before its commit. */
const SLOW_INSERTS = `
  CREATE FUNCTION slow_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(${1 / CAPACITY_PER_SECOND} * (SELECT count(*) FROM created)); RETURN NULL; END $$;
  CREATE TRIGGER slow_insert AFTER INSERT ON pets REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION slow_insert()`;
const importing = (file: string) => ['--import', fileURLToPath(new URL(file, import.meta.url))];

/**
 * Offers five times what a slowed store takes, and as many requests to a bare server at the same moment: what is slower
 * is compared with it, and not with another moment, at which the machine may have been faster.
 */
export async function overload(
  { rounds: seconds, onProgress }: DrillOptions,
  database: string | undefined,
  brokenBy?: string,
): Promise<DrillReport> {
  await using stack = new AsyncDisposableStack();
  const service = await startSlowed(database, brokenBy === undefined ? [] : importing(brokenBy));
  stack.defer(async () => void (await service.stop()));
  const { key, port } = service;
  const barePort = await startBareServer(stack);
  const start = async (toPort: number, request: string, firstConnections: number) =>
    stack.use(await LoadThread.start({ port: toPort, request, firstConnections }));
  const creator = await start(port, createOf(key), OFFERED_PER_SECOND / 10);
  const lister = await start(port, listOf(key), LISTS_PER_SECOND / 10);
  const bareCreator = await start(barePort, createOf(key), OFFERED_PER_SECOND / 10);
  const bareLister = await start(barePort, listOf(key), LISTS_PER_SECOND / 10);
  const send = async (
    perSecond: number,
    forSeconds: number,
    ignoredSeconds: number,
  ): Promise<Phase> => {
    onProgress(`${perSecond} creates per second`);
    const time = { seconds: forSeconds, ignoredSeconds };
    const [creates, lists, bareLists] = await Promise.all([
      creator.run({ ...time, perSecond }),
      lister.run({ ...time, perSecond: LISTS_PER_SECOND }),
      bareLister.run({ ...time, perSecond: LISTS_PER_SECOND }),
      bareCreator.run({ ...time, perSecond }),
    ]);
    return { seconds: forSeconds - ignoredSeconds, creates, lists, bareLists };
  };
  const normalSeconds = Math.min(NORMAL_SECONDS_MAX, seconds) + SETTLE_SECONDS;
  await send(OFFERED_PER_SECOND, WARM_UP_SECONDS, WARM_UP_SECONDS);
  const before = await send(NORMAL_PER_SECOND, normalSeconds, SETTLE_SECONDS);
  const [memoryMib, during] = await Promise.all([
    memoryAt(service, seconds),
    send(OFFERED_PER_SECOND, seconds, 0),
  ]);
  // Directly afterwards: the service must recover at once.
  const after = await send(NORMAL_PER_SECOND, normalSeconds, SETTLE_SECONDS);
  return judge({ before, during, after, memoryMib });
}

async function startSlowed(
  database: string | undefined,
  broken: readonly string[],
): Promise<ServiceProcess> {
  const slow = database === undefined ? importing('./slow-writes.ts') : [];
  const service = await ServiceProcess.start({ database, nodeFlags: [...slow, ...broken] });
  if (database === undefined) return service;
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query(`DROP FUNCTION IF EXISTS slow_insert CASCADE; ${SLOW_INSERTS}`);
  await client.end();
  return service;
}

/** The memory of the process after a third of this time, and at its end. */
async function memoryAt(
  service: ServiceProcess,
  seconds: number,
): Promise<[early: number, late: number]> {
  await sleep((seconds * 1_000) / 3);
  const early = service.memoryMib();
  await sleep((seconds * 2_000) / 3);
  return [early, service.memoryMib()];
}

const createBody = '{"name":"Rex","categoryId":1}';

function createOf(key: string): string {
  return `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${createBody.length}\r\n\r\n${createBody}`;
}

function listOf(key: string): string {
  return `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

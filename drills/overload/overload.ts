import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { ServiceProcess } from '../service-process.ts';
import { StolenTime } from '../stolen-time.ts';
import { startBareServer } from './bare-server.ts';
import { judge, type OverloadReport, type StoreName } from './judgement.ts';
import { LoadThread } from './open-loop.ts';

/** What the slowed store takes, what is sent to it without congestion, and with. */
const CAPACITY_PER_SECOND = 1_000;
const NORMAL_PER_SECOND = 800;
const OFFERED_PER_SECOND = 5_000;
const LISTS_PER_SECOND = 100;
/** At most: a short run has a short time before and after. */
const NORMAL_SECONDS_MAX = 10;
const SETTLE_SECONDS = 2;
/** Until the code that refuses requests is compiled. */
const WARM_UP_SECONDS = 4;
/** Each animal costs a millisecond before its commit. */
const SLOW_INSERTS = `
  CREATE FUNCTION slow_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(${1 / CAPACITY_PER_SECOND} * (SELECT count(*) FROM created)); RETURN NULL; END $$;
  CREATE TRIGGER slow_insert AFTER INSERT ON pets REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION slow_insert()`;

/**
 * Offers five times what a slowed store takes, and compares with the time before and after. Before and after, a
 * bare server on this machine gets the requests that the service does not get, so that the machine is equally
 * busy all the time and the difference is what congestion of the store makes.
 */
export async function drillOverload(
  store: StoreName,
  {
    seconds,
    broken = [],
    onProgress,
  }: { seconds: number; broken?: readonly string[]; onProgress: (text: string) => void },
): Promise<OverloadReport> {
  await using stack = new AsyncDisposableStack();
  const service = await startSlowed(store, broken, stack);
  const { key, port } = service;
  const barePort = await startBareServer(stack);
  const stolenTime = stack.use(new StolenTime());
  const start = async (toPort: number, request: string, firstConnections: number) =>
    stack.use(await LoadThread.start({ port: toPort, request, firstConnections }));
  const creator = await start(port, createOf(key), OFFERED_PER_SECOND / 10);
  const lister = await start(port, listOf(key), LISTS_PER_SECOND / 10);
  const rest = await start(barePort, createOf(key), OFFERED_PER_SECOND / 10);
  const normalSeconds = Math.min(NORMAL_SECONDS_MAX, seconds) + SETTLE_SECONDS;
  const run = async (perSecond: number, forSeconds: number, ignoredSeconds: number) => {
    const time = { seconds: forSeconds, ignoredSeconds };
    const [creates, lists] = await Promise.all([
      creator.run({ ...time, perSecond }),
      lister.run({ ...time, perSecond: LISTS_PER_SECOND }),
      rest.run({ ...time, perSecond: OFFERED_PER_SECOND - perSecond }),
    ]);
    return { creates, lists };
  };

  onProgress(`${store}: warming up`);
  await run(OFFERED_PER_SECOND, WARM_UP_SECONDS, WARM_UP_SECONDS);
  onProgress(`${store}: ${NORMAL_PER_SECOND} creates per second`);
  const before = await run(NORMAL_PER_SECOND, normalSeconds, SETTLE_SECONDS);
  onProgress(`${store}: ${OFFERED_PER_SECOND} creates per second`);
  const [memoryMib, during] = await Promise.all([
    memoryAt(service, seconds),
    run(OFFERED_PER_SECOND, seconds, 0),
  ]);
  onProgress(`${store}: ${NORMAL_PER_SECOND} creates per second again`);
  const after = await run(NORMAL_PER_SECOND, normalSeconds, SETTLE_SECONDS);
  return judge(store, { before, during, after, memoryMib, seconds, stolenTime });
}

async function startSlowed(
  store: StoreName,
  broken: readonly string[],
  stack: AsyncDisposableStack,
): Promise<ServiceProcess> {
  if (store === 'SQLite') {
    const slow = ['--import', fileURLToPath(new URL('./slow-writes.ts', import.meta.url))];
    const service = await ServiceProcess.start({ nodeFlags: [...slow, ...broken] });
    stack.defer(async () => void (await service.stop()));
    return service;
  }
  const server = await PostgresServer.start({ isDurable: true });
  stack.defer(() => server.close());
  const database = await server.createDatabase();
  const options = { database: server.url(database), nodeFlags: broken };
  const service = await ServiceProcess.start(options);
  stack.defer(async () => void (await service.stop()));
  await server.query(SLOW_INSERTS, database);
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

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { StolenTime, untilUndisturbed } from '../../harness/stolen-time.ts';
import { onBothStores } from '../stores.ts';
import { startBareServer } from './bare-server.ts';
import { isDisturbed, judge, type Phase } from './judgement.ts';
import { LoadThread } from './open-loop.ts';

// The store is as slow as the drill makes it, and not as this disk is.
await import('../../harness/memory-folder.ts');

const ROUNDS = 30;
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
const importing = (file: string) => ['--import', fileURLToPath(new URL(file, import.meta.url))];

export const drill: Drill = {
  promise:
    'Admission control: under overload, accepted creates keep their latency, the others are refused at once, and lists continue.',
  method:
    'A store that takes 1 ms per create gets five times what it can take, in an open loop, on each store.',
  unit: 'seconds of overload',
  rounds: ROUNDS,
  quickRounds: 2,
  run: (options) => onBothStores(({ database }) => drillOverload(options, database)),
  control: {
    brokenBy: 'queueing every create',
    finds: ['no create was refused'],
    // Not the times: on a busy host they show nothing.
    run: (options) => drillOverload(options, undefined, importing('./queue-all.ts')),
  },
};

/**
 * Offers five times what a slowed store takes, and compares with the time before and after. Before and after, a
 * bare server on this machine gets the requests that the service does not get, so that the machine is equally
 * busy all the time and the difference is what congestion of the store makes.
 */
async function drillOverload(
  { rounds: seconds, onProgress }: DrillOptions,
  database: string | undefined,
  broken: readonly string[] = [],
): Promise<DrillReport> {
  await using stack = new AsyncDisposableStack();
  const service = await startSlowed(database, broken);
  stack.defer(async () => void (await service.stop()));
  const { key, port } = service;
  const barePort = await startBareServer(stack);
  const stolenTime = stack.use(new StolenTime());
  const start = async (toPort: number, request: string, firstConnections: number) =>
    stack.use(await LoadThread.start({ port: toPort, request, firstConnections }));
  const creator = await start(port, createOf(key), OFFERED_PER_SECOND / 10);
  const lister = await start(port, listOf(key), LISTS_PER_SECOND / 10);
  const rest = await start(barePort, createOf(key), OFFERED_PER_SECOND / 10);
  const normalSeconds = Math.min(NORMAL_SECONDS_MAX, seconds) + SETTLE_SECONDS;
  const send = async (perSecond: number, forSeconds: number, ignoredSeconds: number) => {
    onProgress(`${perSecond} creates per second`);
    const time = { seconds: forSeconds, ignoredSeconds };
    const [creates, lists] = await Promise.all([
      creator.run({ ...time, perSecond }),
      lister.run({ ...time, perSecond: LISTS_PER_SECOND }),
      rest.run({ ...time, perSecond: OFFERED_PER_SECOND - perSecond }),
    ]);
    return { creates, lists };
  };
  await send(OFFERED_PER_SECOND, WARM_UP_SECONDS, WARM_UP_SECONDS);
  const judgesTimes = seconds >= ROUNDS;
  const isDisturbedPhase = (phase: Phase) => judgesTimes && isDisturbed(phase, stolenTime);
  const sendNormal = () => send(NORMAL_PER_SECOND, normalSeconds, SETTLE_SECONDS);
  const before = await untilUndisturbed(sendNormal, isDisturbedPhase);
  const overload = async () => {
    const [memoryMib, during] = await Promise.all([
      memoryAt(service, seconds),
      send(OFFERED_PER_SECOND, seconds, 0),
    ]);
    // Directly afterwards: the service must recover at once.
    return { memoryMib, during, after: await sendNormal() };
  };
  const measured = await untilUndisturbed(
    overload,
    ({ during, after }) => isDisturbedPhase(during) || isDisturbedPhase(after),
  );
  return judge({ ...measured, before, seconds, stolenTime, judgesTimes });
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

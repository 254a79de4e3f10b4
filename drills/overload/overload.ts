import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../../src/domain/api-key.ts';
import { PostgresServer } from '../../test/postgres-server.ts';
import { ServiceProcess } from '../service-process.ts';
import { runLoad, type LoadResult } from './open-loop.ts';

/** What the slowed store takes, what is sent to it without congestion, and with. */
const CAPACITY_PER_SECOND = 1_000;
const NORMAL_PER_SECOND = 800;
const OFFERED_PER_SECOND = 5_000;
const LISTS_PER_SECOND = 100;
const NORMAL_SECONDS = 10;
const SETTLE_SECONDS = 2;
const CREATE_FACTOR_MAX = 3;
const LIST_FACTOR_MAX = 2;
/** Without congestion: a pause of this machine lets more requests arrive at once than the store takes. */
const REFUSED_SHARE_MAX = 0.01;
const MEMORY_GROWTH_MIB_MAX = 32;

/** Each animal costs a millisecond before its commit. */
const SLOW_INSERTS = `
  CREATE FUNCTION slow_insert() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(${1 / CAPACITY_PER_SECOND} * (SELECT count(*) FROM created)); RETURN NULL; END $$;
  CREATE TRIGGER slow_insert AFTER INSERT ON pets REFERENCING NEW TABLE AS created
    FOR EACH STATEMENT EXECUTE FUNCTION slow_insert()`;

export type StoreName = 'SQLite' | 'PostgreSQL';

export interface OverloadReport {
  figures: Record<string, string | number>;
  violations: string[];
}

interface Phase {
  creates: LoadResult;
  lists: LoadResult;
}

/** Offers five times what a slowed store takes, and compares with the time before and after. */
export async function drillOverload(
  store: StoreName,
  {
    seconds,
    broken = [],
    onProgress,
  }: { seconds: number; broken?: readonly string[]; onProgress: (text: string) => void },
): Promise<OverloadReport> {
  await using stack = new AsyncDisposableStack();
  const { service, key } = await startSlowed(store, broken, stack);
  const port = Number(new URL(service.baseUrl).port);
  const run = async (perSecond: number, forSeconds: number, ignoredSeconds: number) => {
    const shared = { port, seconds: forSeconds, ignoredSeconds };
    const [creates, lists] = await Promise.all([
      runLoad({ ...shared, request: createOf(key), perSecond }),
      runLoad({ ...shared, request: listOf(key), perSecond: LISTS_PER_SECOND }),
    ]);
    return { creates, lists };
  };

  onProgress(`${store}: ${NORMAL_PER_SECOND} creates per second`);
  const before = await run(NORMAL_PER_SECOND, NORMAL_SECONDS + SETTLE_SECONDS, SETTLE_SECONDS);
  onProgress(`${store}: ${OFFERED_PER_SECOND} creates per second`);
  const [memoryMib, during] = await Promise.all([
    memoryAt(service.pid, seconds),
    run(OFFERED_PER_SECOND, seconds, 0),
  ]);
  onProgress(`${store}: ${NORMAL_PER_SECOND} creates per second again`);
  const after = await run(NORMAL_PER_SECOND, NORMAL_SECONDS + SETTLE_SECONDS, SETTLE_SECONDS);
  return judge(store, { before, during, after }, memoryMib, seconds);
}

async function startSlowed(
  store: StoreName,
  broken: readonly string[],
  stack: AsyncDisposableStack,
): Promise<{ service: ServiceProcess; key: string }> {
  const key = newSecret('production', randomBytes);
  const folder = await mkdtemp(join(tmpdir(), 'petstore-drill-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const flags = ['--data', folder, '--log', 'error'];
  const slow = ['--import', fileURLToPath(new URL('./slow-writes.ts', import.meta.url))];
  if (store === 'SQLite') {
    const service = await ServiceProcess.start(flags, key, undefined, [...slow, ...broken]);
    stack.defer(async () => void (await service.stop()));
    return { service, key };
  }
  const server = await PostgresServer.start({ isDurable: true });
  stack.defer(() => server.close());
  const database = await server.createDatabase();
  const url = server.url(database);
  const service = await ServiceProcess.start(['--database', url, ...flags], key, undefined, broken);
  stack.defer(async () => void (await service.stop()));
  await server.query(SLOW_INSERTS, database);
  return { service, key };
}

/** The memory of the process after a third of this time, and at its end. */
async function memoryAt(pid: number, seconds: number): Promise<[early: number, late: number]> {
  await new Promise((resolve) => setTimeout(resolve, (seconds * 1_000) / 3));
  const early = memoryMibOf(pid);
  await new Promise((resolve) => setTimeout(resolve, (seconds * 2_000) / 3));
  return [early, memoryMibOf(pid)];
}

function memoryMibOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024);
}

function judge(
  store: StoreName,
  { before, during, after }: { before: Phase; during: Phase; after: Phase },
  [early, late]: [early: number, late: number],
  seconds: number,
): OverloadReport {
  const violations: string[] = [];
  const expect = (isSo: boolean, text: string) => {
    if (!isSo) violations.push(`${store}: ${text}`);
  };
  const p99 = {
    creates: [before, during, after].map(({ creates }) => percentile(creates.tookMs[201])),
    lists: [before, during, after].map(({ lists }) => percentile(lists.tookMs[200])),
  };
  const [normalMs = 0, congestedMs = 0, afterMs = 0] = p99.creates;
  const [listMs = 0, listCongestedMs = 0] = p99.lists;
  const accepted = during.creates.tookMs[201]?.length ?? 0;
  const refused = during.creates.tookMs[503] ?? [];

  expect(congestedMs <= CREATE_FACTOR_MAX * normalMs, `p99 of creates: ${p99.creates.join(', ')}`);
  expect(listCongestedMs <= LIST_FACTOR_MAX * listMs, `p99 of lists: ${p99.lists.join(', ')}`);
  expect(afterMs <= CREATE_FACTOR_MAX * normalMs, `p99 of creates after it: ${afterMs} ms`);
  expect(during.creates.malformed === 0, `${during.creates.malformed} malformed refusals`);
  const others = during.creates.sent - accepted - refused.length;
  expect(others === 0, `${others} creates got no 201 and no 503: ${statuses(during.creates)}`);
  expect(late - early <= MEMORY_GROWTH_MIB_MAX, `memory grew from ${early} to ${late} MiB`);
  for (const phase of [before, after]) {
    const { tookMs, sent } = phase.creates;
    const refusedShare = 1 - (tookMs[201]?.length ?? 0) / sent;
    expect(refusedShare <= REFUSED_SHARE_MAX, `${refusedShare} were refused without congestion`);
  }
  for (const { lists } of [before, during, after]) {
    const failed = lists.sent - (lists.tookMs[200]?.length ?? 0);
    expect(failed === 0, `${failed} lists failed: ${statuses(lists)}`);
  }
  return {
    violations,
    figures: {
      [`${store}: creates accepted, refused per second`]: `${Math.round(accepted / seconds)}, ${Math.round(refused.length / seconds)}`,
      [`${store}: p99 of accepted creates before, during, after (ms)`]: shown(p99.creates),
      [`${store}: p99 of the refusals (ms)`]: percentile(refused).toFixed(1),
      [`${store}: p99 of lists before, during, after (ms)`]: shown(p99.lists),
      [`${store}: memory after a third, at the end (MiB)`]: `${early}, ${late}`,
      [`${store}: connections during it`]: during.creates.connections,
      [`${store}: latest request (ms)`]: shown(
        [before, during, after].map(({ creates }) => creates.lateMsMax),
      ),
    },
  };
}

/** How many responses of each status there were, and how many requests had none. */
function statuses({ tookMs, unanswered }: LoadResult): string {
  const counts = Object.entries(tookMs).map(([status, { length }]) => `${length} × ${status}`);
  return [...counts, `${unanswered} without a response`].join(', ');
}

function shown(values: readonly number[]): string {
  return values.map((value) => value.toFixed(1)).join(', ');
}

function percentile(values: readonly number[] = [], share = 0.99): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

const createBody = '{"name":"Rex","categoryId":1}';

function createOf(key: string): string {
  return `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${createBody.length}\r\n\r\n${createBody}`;
}

function listOf(key: string): string {
  return `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

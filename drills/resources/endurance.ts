import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { newCursor } from '../../src/domain/page.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';
import { Load, type OtherRequest } from '../../harness/load.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';

const CLIENTS = 16;
const CREATE_EVERY = 20;
const LIMIT_MAX = 20;
const SAMPLES = 200;
const POLL_MS = 5;
/** The memory after the first tenth is compared with the memory at the end, each over this share of the requests. */
const COMPARED_SHARE = 0.03;
const FIRST_SHARE = 0.1;
const GROWTH_MAX = 1.1;
/** With fewer requests the heap has not reached its usual size after a tenth of them. */
const SETTLED_REQUESTS_MIN = 2_000_000;
const UNSETTLED_MIB_MAX = 96;
/** Files that are open for a moment. */
const FILES_MORE_MAX = 5;
/** The log is emptied in time, unless a reader holds it: none of this load does. */
const LOG_MIB_MAX = 64;
const MIB = 1024 * 1024;

interface Sample {
  requests: number;
  memoryMib: number;
  files: number;
  logMib: number;
}

/** Sends many requests of every kind, and watches the memory, the open files and the log of the service. */
export async function endure(
  { rounds, seed, onProgress }: DrillOptions,
  variant: { database?: string | undefined; nodeFlags?: readonly string[] } = {},
): Promise<DrillReport> {
  const service = await ServiceProcess.start(variant);
  const { key, baseUrl } = service;
  const random = newRandom(seed);
  const load = new Load({
    key,
    baseUrl: () => baseUrl,
    createEvery: CREATE_EVERY,
    unclaimedEvery: 2,
    others: () => newRequest(random, load.creates.acknowledged.size),
  });
  const samples: Sample[] = [];
  load.start(CLIENTS);
  for (let requests = 0; requests < rounds && load.violations.length === 0;) {
    await sleep(POLL_MS);
    ({ requests } = load.counts);
    if (requests < (rounds / SAMPLES) * samples.length) continue;
    const log = statSync(`${service.file}-wal`, { throwIfNoEntry: false });
    const [memoryMib, files] = [service.memoryMib(), service.openFiles()];
    samples.push({ requests, memoryMib, files, logMib: (log?.size ?? 0) / MIB });
    onProgress(`${requests} of ${rounds} requests`);
  }
  await load.stop();
  const compared = compare(samples, rounds);
  const violations = [...load.violations, ...compared.violations, ...(await service.stop())];
  const figures = { 'animals created': load.creates.acknowledged.size, ...compared.figures };
  return { passed: load.counts.requests, violations, figures };
}

/** Lists, gets, and requests that are refused. */
function newRequest(random: Random, created: number): OtherRequest {
  const kind = random.integer(95);
  if (kind < 45) return { path: `/pets?${newQuery(random, created)}`, status: 200 };
  if (kind < 83 && created > 0)
    return { path: `/pets/${1 + random.integer(created)}`, status: 200 };
  if (kind < 87) return { path: '/pets/0', status: 404 };
  if (kind < 90) return { path: '/pets?limit=0', status: 400 };
  if (kind < 92) return { method: 'POST', path: '/pets', body: '{"name":1}', status: 400 };
  const key = kind < 94 ? 'pet_live_x' : newSecret('production', randomBytes);
  return { path: '/pets', headers: { Authorization: `Bearer ${key}` }, status: 401 };
}

function newQuery(random: Random, created: number): string {
  const limit = `limit=${1 + random.integer(LIMIT_MAX)}`;
  if (random.isOneIn(4)) return `${limit}&status=available`;
  if (random.isOneIn(2)) return limit;
  return `${limit}&cursor=${newCursor(BigInt(random.integer(created + 1)), undefined)}`;
}

function compare(samples: readonly Sample[], requests: number): Omit<DrillReport, 'passed'> {
  const since = (share: number) => samples.filter((each) => each.requests >= share * requests);
  const first = since(FIRST_SHARE).filter(
    (each) => each.requests <= (FIRST_SHARE + COMPARED_SHARE) * requests,
  );
  const last = since(1 - COMPARED_SHARE);
  const of = (some: readonly Sample[], figure: keyof Sample) =>
    median(some.map((sample) => sample[figure]));
  const [firstMib, lastMib] = [of(first, 'memoryMib'), of(last, 'memoryMib')];
  const [firstFiles, lastFiles] = [of(first, 'files'), of(last, 'files')];
  const logMibMax = Math.round(Math.max(...samples.map(({ logMib }) => logMib)));
  const extraMib = requests < SETTLED_REQUESTS_MIN ? UNSETTLED_MIB_MAX : 0;
  const violations: string[] = [];
  if (lastMib > firstMib * GROWTH_MAX + extraMib) {
    violations.push(`the memory grew from ${firstMib} to ${lastMib} MiB`);
  }
  if (lastFiles > firstFiles + FILES_MORE_MAX) {
    violations.push(`${firstFiles} files were open after the first tenth, ${lastFiles} at the end`);
  }
  if (logMibMax > LOG_MIB_MAX) violations.push(`the log grew to ${logMibMax} MiB`);
  const figures = {
    'memory after a tenth and at the end (MiB)': `${firstMib}, ${lastMib}`,
    'open files after a tenth and at the end': `${firstFiles}, ${lastFiles}`,
    'largest log (MiB)': logMibMax,
  };
  return { violations, figures };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}

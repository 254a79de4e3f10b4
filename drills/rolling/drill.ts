import { setTimeout as sleep } from 'node:timers/promises';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { onBothStores } from '../stores.ts';

const WORKERS = 4;
const CLIENTS = 32;
const CREATE_EVERY = 4;
const POLL_MS = 100;
/** The load continues after its last request until a restart is complete, but no longer than this. */
const LOAD_MS_MAX = 600_000;
const SHORT_BELOW = 10_000;
const RESTARTS_MIN = 10;

export const drill: Drill = {
  promise: 'A rolling restart fails no request, and loses nothing that was acknowledged.',
  method:
    'At least ten rolling restarts on each store, one directly after the other, under 32 connections of lists, gets and creates.',
  unit: 'requests',
  rounds: 50_000,
  quickRounds: 3_000,
  run: (options) => onBothStores(({ database }) => run(options, database)),
  control: {
    brokenBy:
      'workers that do not wait for their requests, and one create in twenty that is not stored',
    finds: ['failed: Error', 'is lost'],
    run: (options) =>
      run(options, undefined, [...brokenBy('stops-at-once'), ...brokenBy('forgets-creates')]),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  database: string | undefined,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const flags = ['--workers', String(WORKERS), '--log', 'info'];
  const service = await ServiceProcess.start({ database, flags, nodeFlags });
  const { key, baseUrl } = service;
  const load = new Load({
    key,
    baseUrl: () => baseUrl,
    createEvery: CREATE_EVERY,
    unclaimedEvery: 2,
  });
  const restartsMin = rounds < SHORT_BELOW ? 1 : RESTARTS_MIN;
  const untilMs = performance.now() + LOAD_MS_MAX;
  load.start(CLIENTS);
  const isOver = () => load.counts.requests >= rounds && service.restarts() >= restartsMin;
  let asked = 0;
  while (!isOver() && performance.now() < untilMs) {
    if (service.restarts() === asked) {
      service.signal('SIGHUP');
      asked += 1;
    }
    onProgress(`${load.counts.requests} requests, ${service.restarts()} rolling restarts`);
    await sleep(POLL_MS);
  }
  await load.stop();
  const { violations } = load;
  if (!isOver()) violations.push(`only ${service.restarts()} rolling restarts were completed`);
  await load.compare(baseUrl);
  violations.push(...(await service.stop()));
  const { requests } = load.counts;
  return {
    passed: requests - violations.length,
    violations,
    figures: {
      requests,
      'creates acknowledged': load.creates.acknowledged.size,
      'complete rolling restarts': service.restarts(),
      'slowest request (ms)': load.counts.slowestMs,
    },
  };
}

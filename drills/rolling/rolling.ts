import { randomBytes } from 'node:crypto';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client } from '../client.ts';
import { Reader } from '../fleet/reader.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const CONNECTIONS = 32;
/** Every fourth request is a create. */
const CREATE_EVERY = 4;
const HANGUP_INTERVAL_MS = 500;
/** The load continues after its last request until the restarts are complete, but no longer than this. */
const LOAD_MS_MAX = 600_000;
const REPLACED = 'all workers were replaced';

export interface RollingReport {
  lists: number;
  creates: number;
  seconds: number;
  hangups: number;
  restarts: number;
  slowestMs: number;
  stored: number;
  /** How often each failure happened. */
  failures: Map<string, number>;
  violations: string[];
}

export interface RollingOptions {
  workers: number;
  requests: number;
  restarts: number;
  /** Undefined: SQLite in a new temporary folder. */
  database?: string | undefined;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[] | undefined;
  onProgress?: (succeeded: number, restarts: number) => void;
}

/** Sends one SIGHUP after another under load. No request may fail. */
export async function drillRolling(options: RollingOptions): Promise<RollingReport> {
  const key = newSecret('production', randomBytes);
  await using data = await temporaryFolder();
  const { workers, database, nodeFlags } = options;
  const flags = ['--workers', String(workers), '--data', data.path, '--log', 'info'].concat(
    database === undefined ? [] : ['--database', database],
  );
  const service = await ServiceProcess.start(flags, key, undefined, nodeFlags);
  const report = newReport();
  let hangups = 0;
  const timer = setInterval(() => {
    hangups += 1;
    service.signal('SIGHUP');
  }, HANGUP_INTERVAL_MS);
  const began = performance.now();
  await load(service, key, report, options);
  clearInterval(timer);
  const seconds = (performance.now() - began) / 1_000;
  const restarts = service.countLogLines(REPLACED);
  const stored = await countStored(service, key);
  const ends = await service.stop();
  const result = { ...report, hangups, restarts, seconds, stored };
  return { ...result, violations: [...violationsOf(result, options), ...ends] };
}

type LoadReport = Pick<RollingReport, 'lists' | 'creates' | 'slowestMs' | 'failures'>;

function newReport(): LoadReport {
  return { lists: 0, creates: 0, slowestMs: 0, failures: new Map() };
}

async function load(
  service: ServiceProcess,
  key: string,
  report: LoadReport,
  { requests, restarts, onProgress }: RollingOptions,
): Promise<void> {
  const until = performance.now() + LOAD_MS_MAX;
  const isOver = (begun: number) =>
    performance.now() > until || (begun >= requests && service.countLogLines(REPLACED) >= restarts);
  let begun = 0;
  const send = async () => {
    const client = new Client(key);
    while (!isOver(begun)) {
      const number = begun;
      begun += 1;
      await sendOne(client, service.baseUrl, number, report);
      onProgress?.(report.lists + report.creates, service.countLogLines(REPLACED));
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
}

async function sendOne(
  client: Client,
  baseUrl: string,
  number: number,
  report: LoadReport,
): Promise<void> {
  const isCreate = number % CREATE_EVERY === 0;
  const began = performance.now();
  try {
    const { status, body } = isCreate
      ? await client.create(baseUrl, `animal-${number}`, { isClaimed: false })
      : await client.get(`${baseUrl}/pets?limit=20`);
    if (status !== (isCreate ? 201 : 200)) throw new Error(`${status} ${body}`);
    report[isCreate ? 'creates' : 'lists'] += 1;
  } catch (error) {
    const failure = `${isCreate ? 'create' : 'list'}: ${String(error)}`;
    report.failures.set(failure, (report.failures.get(failure) ?? 0) + 1);
  }
  report.slowestMs = Math.max(report.slowestMs, performance.now() - began);
}

async function countStored(service: ServiceProcess, key: string): Promise<number> {
  const reader = new Reader([service.baseUrl], key);
  await reader.follow(() => true);
  return reader.seen.size;
}

function violationsOf(
  { creates, failures, restarts, stored }: Omit<RollingReport, 'violations'>,
  wanted: RollingOptions,
): string[] {
  const failed = [...failures].map(([failure, count]) => `${count} × ${failure}`);
  if (restarts < wanted.restarts) failed.push(`only ${restarts} rolling restarts were completed`);
  // A create that failed may be stored too, so there may be more animals than acknowledged creates.
  if (stored < creates)
    failed.push(`${creates} creates were acknowledged and ${stored} are stored`);
  return failed;
}

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { ServiceProcess } from '../service-process.ts';
import { newRandom } from '../random.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MixedLoad } from './mixed-load.ts';

const SAMPLES = 200;
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
const PAUSE_CHECK_MS = 100;
const MIB = 1024 * 1024;

export interface EnduranceOptions {
  requests: number;
  seed: number;
  database?: string | undefined;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (requests: number) => void;
}

interface Sample {
  requests: number;
  memoryMib: number;
  files: number;
  logMib: number;
}

export interface EnduranceReport {
  requests: number;
  created: number;
  seconds: number;
  memoryMib: [first: number, last: number];
  files: [first: number, last: number];
  logMibMax: number;
  /** The longest time for which this process did not run. After some seconds, reads that waited get a 503. */
  pauseMsMax: number;
  violations: string[];
}

/** Sends many requests of every kind, and watches the memory, the open files and the log of the service. */
export async function drillEndurance(options: EnduranceOptions): Promise<EnduranceReport> {
  const key = newSecret('production', randomBytes);
  await using data = await temporaryFolder();
  const flags = ['--data', data.path, '--log', 'silent'];
  if (options.database !== undefined) flags.push('--database', options.database);
  const service = await ServiceProcess.start(flags, key, undefined, options.nodeFlags);
  const log = join(data.path, 'production', 'petstore.sqlite-wal');
  const samples: Sample[] = [];
  const sampleEvery = Math.ceil(options.requests / SAMPLES);
  const sample = (requests: number) => {
    if (requests % sampleEvery !== 0 && requests !== options.requests) return;
    samples.push({
      requests,
      memoryMib: service.memoryMib(),
      files: service.openFiles(),
      logMib: (statSync(log, { throwIfNoEntry: false })?.size ?? 0) / MIB,
    });
    options.onProgress?.(requests);
  };
  const { baseUrl } = service;
  const load = new MixedLoad(baseUrl, key, newRandom(options.seed), options.requests, sample);
  const startedMs = performance.now();
  using pauses = new Pauses();
  await load.run();
  const seconds = (performance.now() - startedMs) / 1_000;
  const compared = compare(samples, options.requests);
  const violations = [...load.violations, ...compared.violations, ...(await service.stop())];
  const { done, created } = load;
  const pauseMsMax = Math.round(pauses.longestMs);
  return { requests: done, created, seconds, ...compared, pauseMsMax, violations };
}

/** Notices when the machine or this process is suspended. */
class Pauses implements Disposable {
  longestMs = 0;
  #lastMs = performance.now();
  readonly #timer = setInterval(() => {
    const nowMs = performance.now();
    this.longestMs = Math.max(this.longestMs, nowMs - this.#lastMs - PAUSE_CHECK_MS);
    this.#lastMs = nowMs;
  }, PAUSE_CHECK_MS);

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

type Compared = Pick<EnduranceReport, 'memoryMib' | 'files' | 'logMibMax' | 'violations'>;

function compare(samples: readonly Sample[], requests: number): Compared {
  const since = (share: number) => samples.filter((each) => each.requests >= share * requests);
  const first = since(FIRST_SHARE).filter(
    (each) => each.requests <= (FIRST_SHARE + COMPARED_SHARE) * requests,
  );
  const last = since(1 - COMPARED_SHARE);
  const memoryMib = [median(first, 'memoryMib'), median(last, 'memoryMib')] as const;
  const files = [median(first, 'files'), median(last, 'files')] as const;
  const logMibMax = Math.round(Math.max(...samples.map(({ logMib }) => logMib)));
  const extraMib = requests < SETTLED_REQUESTS_MIN ? UNSETTLED_MIB_MAX : 0;
  const violations: string[] = [];
  if (memoryMib[1] > memoryMib[0] * GROWTH_MAX + extraMib) {
    violations.push(`the memory grew from ${memoryMib[0]} to ${memoryMib[1]} MiB`);
  }
  if (files[1] > files[0] + FILES_MORE_MAX) {
    violations.push(
      `${files[0]} files were open after the first tenth, and ${files[1]} at the end`,
    );
  }
  if (logMibMax > LOG_MIB_MAX) violations.push(`the log grew to ${logMibMax} MiB`);
  return { memoryMib: [...memoryMib], files: [...files], logMibMax, violations };
}

function median(samples: readonly Sample[], figure: 'memoryMib' | 'files'): number {
  const sorted = samples.map((sample) => sample[figure]).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

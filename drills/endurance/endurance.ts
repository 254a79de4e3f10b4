import { statSync } from 'node:fs';
import { newRandom } from '../random.ts';
import { ServiceProcess } from '../service-process.ts';
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
  memoryMib: [first: number, last: number];
  files: [first: number, last: number];
  logMibMax: number;
  violations: string[];
}

/** Sends many requests of every kind, and watches the memory, the open files and the log of the service. */
export async function drillEndurance(options: EnduranceOptions): Promise<EnduranceReport> {
  const { requests, seed, database, nodeFlags, onProgress } = options;
  const service = await ServiceProcess.start({ database, nodeFlags });
  const samples: Sample[] = [];
  const sampleEvery = Math.ceil(requests / SAMPLES);
  const sample = (done: number) => {
    if (done % sampleEvery !== 0 && done !== requests) return;
    const log = statSync(`${service.file}-wal`, { throwIfNoEntry: false });
    samples.push({
      requests: done,
      memoryMib: service.memoryMib(),
      files: service.openFiles(),
      logMib: (log?.size ?? 0) / MIB,
    });
    onProgress?.(done);
  };
  const load = new MixedLoad(service, { random: newRandom(seed), requests, onDone: sample });
  await load.run();
  const compared = compare(samples, requests);
  const violations = [...load.violations, ...compared.violations, ...(await service.stop())];
  return { requests: load.done, created: load.created, ...compared, violations };
}

type Compared = Pick<EnduranceReport, 'memoryMib' | 'files' | 'logMibMax' | 'violations'>;

function compare(samples: readonly Sample[], requests: number): Compared {
  const since = (share: number) => samples.filter((each) => each.requests >= share * requests);
  const first = since(FIRST_SHARE).filter(
    (each) => each.requests <= (FIRST_SHARE + COMPARED_SHARE) * requests,
  );
  const last = since(1 - COMPARED_SHARE);
  const [firstMib, lastMib] = [median(first, 'memoryMib'), median(last, 'memoryMib')];
  const [firstFiles, lastFiles] = [median(first, 'files'), median(last, 'files')];
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
  const files: [number, number] = [firstFiles, lastFiles];
  return { memoryMib: [firstMib, lastMib], files, logMibMax, violations };
}

function median(samples: readonly Sample[], figure: 'memoryMib' | 'files'): number {
  const sorted = samples.map((sample) => sample[figure]).toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

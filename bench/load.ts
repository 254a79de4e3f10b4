// The requests of each operation, and wrk, which sends them.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { endWithBench, GENERATOR_CORE, pinned } from './processes.ts';

export const OPERATIONS = ['list', 'list by cursor', 'get', 'create', 'mixed'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Where a contender has the operations. */
export interface Paths {
  create: string;
  page: (part: { after?: number; limit?: number; status?: string }) => string;
  pet: (id: number) => string;
}

export const CONNECTIONS = 32;
const TIMEOUT_SECONDS = 30;
/** More than the service caches, so that no request finds its page in the cache. */
const DIFFERENT_REQUESTS = 37_000;
const LIMITS = 39;
const PAGE_ANIMALS = 20;
const STATUSES = ['available', 'pending', 'sold'];

/** The requests of each operation, as lines of load.lua. */
const REQUESTS: Readonly<Record<Operation, (paths: Paths, animals: number) => string[]>> = {
  list: (paths) => [`GET ${paths.page({})}`],
  'list by cursor': (paths, animals) =>
    differentPages(animals).map((part) => `GET ${paths.page(part)}`),
  get: (paths, animals) => spread(animals, animals).map((after) => `GET ${paths.pet(after + 1)}`),
  create: (paths) => [`POST ${paths.create}`],
  mixed,
};

export function requestsOf(operation: Operation, paths: Paths, animals: number): string[] {
  return REQUESTS[operation](paths, animals);
}

/** Gets of a store of any size that find nothing in the cache: the service ignores the parameter. */
export function uncachedGets(paths: Paths, animals: number): string[] {
  return spread(DIFFERENT_REQUESTS, animals).map(
    (after, n) => `GET ${paths.pet(after + 1)}?n=${n}`,
  );
}

/** So many positions from the whole store, in an order that jumps. */
function spread(count: number, animals: number): number[] {
  // The step and the count have no common divisor, so every position comes up once.
  const step = 7_919;
  return Array.from({ length: count }, (_, index) =>
    Math.floor((((index * step) % count) * animals) / count),
  );
}

/** All different, also in a small store, because their limits differ. The mean is 20. */
function differentPages(animals: number) {
  const limits = spread(DIFFERENT_REQUESTS, DIFFERENT_REQUESTS);
  return spread(DIFFERENT_REQUESTS, animals - LIMITS).map((after, index) => ({
    after,
    limit: 1 + ((limits[index] ?? 0) % LIMITS),
  }));
}

/** Of ten requests seven are the next pages of as many walks, two first pages with a filter, one a create with a key. */
function mixed(paths: Paths, animals: number): string[] {
  const walks = 7;
  const pagesPerWalk = Math.floor(animals / walks / PAGE_ANIMALS);
  return Array.from({ length: pagesPerWalk }, (_, page) => page).flatMap((page) => {
    const walked = Array.from({ length: walks }, (_each, walk) =>
      paths.page({ after: (walk * pagesPerWalk + page) * PAGE_ANIMALS }),
    );
    const filtered = paths.page({ status: STATUSES[page % STATUSES.length] ?? '' });
    return [...walked, filtered, filtered]
      .map((path) => `GET ${path}`)
      .concat(`KEYED ${paths.create}`);
  });
}

export interface LoadResult {
  requests: number;
  rate: number;
  p50Ms: number;
  p99Ms: number;
}

let runs = 0;

/** Sends requests for so many seconds. Throws if one failed. */
export async function sendLoad(
  url: string,
  requests: { file: string; key: string },
  seconds: number,
): Promise<LoadResult> {
  runs += 1;
  const limits = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, `--timeout=${TIMEOUT_SECONDS}s`];
  const script = join(import.meta.dirname, 'load.lua');
  const [program, ...args] = pinned(
    ['wrk', ...limits, '-s', script, url, '--', requests.key, requests.file, `run-${runs}-`],
    GENERATOR_CORE,
  );
  const child = endWithBench(spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
  return parseResult(await text(child.stdout));
}

/** Parses the line that load.lua prints. */
export function parseResult(output: string): LoadResult {
  const line = /^RESULT (\{.*\})$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`the generator printed no result: ${output}`);
  const {
    requests = 0,
    seconds = 0,
    p50Ms = 0,
    p99Ms = 0,
    failed,
  } = JSON.parse(line) as Partial<Record<string, number>>;
  if (failed !== 0) throw new Error(`${failed} of ${requests} requests failed`);
  if (requests === 0) throw new Error('no request got a response');
  return { requests, rate: requests / seconds, p50Ms, p99Ms };
}

import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import type { Progress } from '../src/cli/terminal.ts';
import type { Stores } from './animals.ts';
import { Contender, type Recipe } from './contender.ts';
import type { Cores } from './cores.ts';
import type { Generator, Load, LoadResult } from './generator.ts';

/** What every measurement gets. */
export interface Bench {
  isQuick: boolean;
  /** A temporary folder, removed at the end of the run. */
  folder: string;
  key: string;
  cores: Cores;
  generator: Generator;
  stores: Stores;
  progress: Progress;
  rounds: number;
  roundSeconds: number;
  warmUpSeconds: number;
}

/** One line of the report. */
export interface Row {
  what: string;
  /** Such as "at least 0.93 × bare". */
  target: string;
  /** Such as "0.91 × bare (0.88 – 0.93)". Undefined if it was not measured; `note` then says why. */
  shown: string | undefined;
  isMet: boolean | undefined;
  /** The rates or times that the ratio was calculated from. */
  note: string;
  /** For the chart: measured value in relation to the target. 1 is exactly the target, more is better. */
  reached: number | undefined;
}

export interface Measurement {
  name: string;
  run: (bench: Bench) => Promise<Row[]>;
}

/** A contender and the load that is sent to it. */
export interface Run {
  contender: Contender;
  load: Load;
}

/** The result of one round, with the processor time of the server. */
export interface RoundResult extends LoadResult {
  /** Processor time per request. On a machine with other work it varies less than the rate. */
  processorMicroseconds: number | undefined;
}

/** Warms up every contender, then alternates their rounds, so that other work on the machine affects all. */
export async function alternate(
  bench: Bench,
  what: string,
  runs: readonly Run[],
): Promise<RoundResult[][]> {
  const { generator, progress, rounds, warmUpSeconds } = bench;
  for (const { contender, load } of warmUpSeconds === 0 ? [] : runs) {
    progress.show(`${what}: warming up ${contender.name}`);
    await generator.run(contender.url, load, { seconds: warmUpSeconds });
  }
  const results: RoundResult[][] = runs.map(() => []);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, { contender, load }] of runs.entries()) {
      progress.show(`${what}: round ${round} of ${rounds}, ${contender.name}`);
      results[index]?.push(await runRound(bench, { contender, load }));
    }
  }
  return results;
}

async function runRound(bench: Bench, { contender, load }: Run): Promise<RoundResult> {
  const beforeMs = contender.processorMs();
  const result = await bench.generator.run(contender.url, load, { seconds: bench.roundSeconds });
  const afterMs = contender.processorMs();
  const processorMicroseconds =
    beforeMs === undefined || afterMs === undefined
      ? undefined
      : ((afterMs - beforeMs) * 1000) / result.requests;
  return { ...result, processorMicroseconds };
}

/** Starts the contenders, runs `work` with them, and always stops them. */
export async function withContenders<Result>(
  bench: Bench,
  recipes: readonly Recipe[],
  work: (...contenders: Contender[]) => Promise<Result>,
  environment?: Record<string, string>,
): Promise<Result> {
  const started: Contender[] = [];
  try {
    for (const recipe of recipes) {
      const options = { key: bench.key, cores: bench.cores.server, environment };
      started.push(await Contender.start(recipe, options));
    }
    return await work(...started);
  } finally {
    for (const contender of started) await contender.stop();
  }
}

/** Records the response of the service to one request, for `bare` to send. */
export async function recordResponse(bench: Bench, contender: Contender, path: string) {
  const response = await fetch(`${contender.url}${path}`, {
    headers: { authorization: `Bearer ${bench.key}` },
  });
  const body = await response.text();
  // node:http adds these three itself.
  const added = new Set(['date', 'connection', 'keep-alive']);
  const headers = [...response.headers].filter(([name]) => !added.has(name)).flat();
  const file = join(bench.folder, `response-${encodeURIComponent(path)}.json`);
  writeFileSync(file, JSON.stringify({ status: response.status, headers, body }));
  return file;
}

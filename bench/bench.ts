import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import type { Progress } from '../src/cli/terminal.ts';
import type { Stores } from './animals.ts';
import { Contender, type Recipe } from './contender.ts';
import type { Cores } from './cores.ts';
import type { Generator, Load, LoadResult } from './generator.ts';

/** What every measurement works with. */
export interface Bench {
  isQuick: boolean;
  /** A temporary folder for whatever is needed. */
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
  /** What it must show, in words. */
  target: string;
  /** What it shows: "0.91 × (0.88 – 0.93)". Undefined when it was not measured; `note` then says why. */
  shown: string | undefined;
  isMet: boolean | undefined;
  /** The figures behind it. */
  note: string;
  /** For the chart: how far the target was reached, 1 being exactly; above is better. */
  reached: number | undefined;
}

export interface Measurement {
  name: string;
  run: (bench: Bench) => Promise<Row[]>;
}

/** A contender, and what is sent to it. */
export interface Run {
  contender: Contender;
  load: Load;
}

/** One round, with what it cost the server. */
export interface RoundResult extends LoadResult {
  /** Processor time a request took; it strays less than the rate where others use the machine too. */
  processorMicroseconds: number | undefined;
}

/** Warms every contender up, then lets them run in turn, so that a mood of the machine meets all. */
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

/** Starts contenders, lets the work have them, and stops them whatever happens. */
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

/** Records what the service answers to one request, for `bare` to repeat. */
export async function recordAnswer(bench: Bench, contender: Contender, path: string) {
  const response = await fetch(`${contender.url}${path}`, {
    headers: { authorization: `Bearer ${bench.key}` },
  });
  const body = await response.text();
  // These three are node:http's own, and it adds them again.
  const own = new Set(['date', 'connection', 'keep-alive']);
  const headers = [...response.headers].filter(([name]) => !own.has(name)).flat();
  const file = join(bench.folder, `answer-${encodeURIComponent(path)}.json`);
  writeFileSync(file, JSON.stringify({ status: response.status, headers, body }));
  return file;
}

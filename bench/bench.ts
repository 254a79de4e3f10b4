import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from '../src/cli/terminal.ts';
import type { Stores } from './animals.ts';
import { Contender, type Recipe } from './contender.ts';
import type { Cores } from './cores.ts';
import type { Generator, Load, LoadResult } from './generator.ts';
import type { GoPrograms } from './go.ts';
import type { Row } from './row.ts';
import type { Figure } from './statistics.ts';

/** What every measurement gets. */
export interface Bench {
  isQuick: boolean;
  /** A temporary folder, removed at the end of the run. */
  folder: string;
  key: string;
  cores: Cores;
  generator: Generator;
  stores: Stores;
  go: GoPrograms;
  progress: Progress;
  rounds: number;
  roundSeconds: number;
  warmUpSeconds: number;
}

/** A cell of the table of contenders: a processor time per request in microseconds, or a memory in mebibytes. */
export interface Cell {
  contender: string;
  column: string;
  /** Undefined if it was not measured. */
  figure?: Figure;
  why?: string;
}

/** What a measurement contributes to the documents. */
export interface Outcome {
  rows?: Row[];
  cells?: Cell[];
  /** The inputs of the model of capacity. */
  factors?: Record<string, number>;
}

export interface Measurement {
  name: string;
  run: (bench: Bench) => Promise<Outcome>;
}

/** A contender and the load that is sent to it. */
export interface Run {
  contender: Contender;
  load: Load;
}

/** The result of one round, with the processor time per request. It varies less than the rate on a busy machine. */
export interface RoundResult extends LoadResult {
  /** Of all processes of the contender and of its database; undefined where the system does not report it. */
  processorMicroseconds: number | undefined;
  /** The part of its database. */
  databaseMicroseconds: number | undefined;
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
  const before = contender.processorMs();
  const result = await bench.generator.run(contender.url, load, { seconds: bench.roundSeconds });
  const after = contender.processorMs();
  if (before === undefined || after === undefined) {
    return { ...result, processorMicroseconds: undefined, databaseMicroseconds: undefined };
  }
  const perRequest = (usedMs: number) => (usedMs * 1000) / result.requests;
  const databaseMicroseconds = perRequest(after.database - before.database);
  const processorMicroseconds = perRequest(after.own - before.own) + databaseMicroseconds;
  return { ...result, processorMicroseconds, databaseMicroseconds };
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
    for (const recipe of recipes) started.push(await startContender(bench, recipe, environment));
    return await work(...started);
  } finally {
    for (const contender of started) await contender.stop();
  }
}

export function startContender(
  bench: Bench,
  recipe: Recipe,
  environment?: Record<string, string>,
): Promise<Contender> {
  return Contender.start(recipe, { key: bench.key, cores: bench.cores.server, environment });
}

/** Records the response of the service to each load, by method, for `bare` to send. Returns the file. */
export async function recordResponses(
  bench: Bench,
  { url }: Contender,
  loads: readonly Load[],
): Promise<string> {
  const responses: Record<string, object> = {};
  for (const { method, paths, headers = {}, body = null } of loads) {
    const response = await fetch(`${url}${paths[0]}`, { method, headers, body });
    // node:http adds these three itself.
    const added = new Set(['date', 'connection', 'keep-alive']);
    const sent = [...response.headers].filter(([name]) => !added.has(name)).flat();
    const { status } = response;
    responses[method] = { status, headers: sent, body: await response.text() };
  }
  const file = join(bench.folder, `responses-${performance.now()}.json`);
  writeFileSync(file, JSON.stringify(responses));
  return file;
}

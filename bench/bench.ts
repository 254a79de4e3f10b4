import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from '../src/cli/terminal.ts';
import type { Stores } from './animals.ts';
import { Contender, type Recipe } from './contender.ts';
import type { Cores } from './cores.ts';
import type { Generator, Load } from './generator.ts';
import type { GoProgram } from './go.ts';
import type { Row } from './row.ts';

/** What every measurement gets. */
export interface Bench {
  isQuick: boolean;
  /** A temporary folder, removed at the end of the run. */
  folder: string;
  key: string;
  cores: Cores;
  generator: Generator;
  stores: Stores;
  go: GoProgram;
  progress: Progress;
  roundsMax: number;
  /** No round starts after this time of the process. */
  deadlineMs: number;
  /** In a round by slices, for each contender. */
  slices: number;
  /** Of a round without slices. */
  roundSeconds: number;
  /** For each contender. */
  warmUpSeconds: number;
}

/** A cell of the table of contenders: a processor time per request in microseconds, or a memory in mebibytes. */
export interface Cell {
  contender: string;
  column: string;
  /** Undefined if it was not measured; `why` then says why. */
  median?: number;
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
  /** After this time it starts no further round. */
  minutesMax: number;
  run: (bench: Bench) => Promise<Outcome>;
}

/** A contender to start, and the load that is sent to it. */
export interface Run {
  recipe: Recipe;
  load: Load;
}

/** Starts the contenders, runs `work` with them, and always stops them. */
export async function withContenders<Result>(
  bench: Bench,
  recipes: readonly Recipe[],
  work: (...contenders: Contender[]) => Promise<Result>,
): Promise<Result> {
  const started: Contender[] = [];
  try {
    for (const recipe of recipes) started.push(await startContender(bench, recipe));
    return await work(...started);
  } finally {
    for (const contender of started) await contender.stop();
  }
}

export function startContender(bench: Bench, recipe: Recipe): Promise<Contender> {
  return Contender.start(recipe, { key: bench.key, cores: bench.cores.server });
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

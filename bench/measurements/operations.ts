import {
  withContenders,
  type Bench,
  type Cell,
  type Measurement,
  type Outcome,
  type Run,
} from '../bench.ts';
import type { Contender, Operation, Recipe } from '../contender.ts';
import { Databases, NoPostgres } from '../databases.ts';
import { recipeOf } from '../recipe-of.ts';
import { ANIMAL_COUNT, CURSOR_ANIMAL_COUNT, petstore } from '../recipes.ts';
import { compareCosts, compareRates, costRound, type Goal } from '../rounds.ts';
import { unmeasuredRow, type Bound, type Row } from '../row.ts';
import { median } from '../statistics.ts';

/** A target of the service in relation to one contender. */
interface Target {
  against: string;
  /** `atLeast` compares requests per second of processor time, `atMost` their cost. */
  bound: Bound;
  /** Compares requests per second, which also depend on the disk. */
  isByRate?: boolean;
}

/** One operation, sent to several contenders in turn. */
interface Comparison {
  name: string;
  minutesMax: number;
  /** In the rows, and as a column of the table of contenders. */
  what: string;
  operation: Operation;
  /** Sends the ETag of the page, so that the response is 304. */
  isConditional?: boolean;
  isOnPostgres?: boolean;
  animals?: number;
  contenders: string[];
  goals: Target[];
}

const ON_SQLITE = ['bare', 'bare-tuned', 'bare-sqlite', 'go-sqlite', 'fastify-sqlite'];
const ON_POSTGRES = ['bare-pg', 'go-pg', 'fastify-pg'];

const COMPARISONS: Comparison[] = [
  {
    name: 'list',
    minutesMax: 3,
    what: 'list, repeated',
    operation: 'list',
    contenders: ON_SQLITE,
    goals: [{ against: 'bare', bound: { atLeast: 0.95 } }],
  },
  {
    name: 'not-modified',
    minutesMax: 2,
    what: '304 of a list',
    operation: 'list',
    isConditional: true,
    contenders: ['bare', 'bare-tuned'],
    goals: [{ against: 'bare', bound: { atLeast: 0.9 } }],
  },
  {
    name: 'cursor',
    minutesMax: 3,
    what: 'list by cursor, not cached',
    operation: 'cursor',
    animals: CURSOR_ANIMAL_COUNT,
    contenders: ['bare-sqlite', 'go-sqlite', 'fastify-sqlite'],
    goals: [
      { against: 'bare-sqlite', bound: { atLeast: 1.15 } },
      { against: 'go-sqlite', bound: { atLeast: 1.5 } },
    ],
  },
  {
    name: 'get',
    minutesMax: 2.5,
    what: 'get',
    operation: 'get',
    contenders: ON_SQLITE,
    goals: [{ against: 'bare', bound: { atLeast: 0.9 } }],
  },
  {
    name: 'create',
    minutesMax: 3.5,
    what: 'create, durable',
    operation: 'create',
    contenders: ON_SQLITE,
    goals: [
      { against: 'bare', bound: { atMost: 2.4 } },
      { against: 'go-sqlite', bound: { atLeast: 1.55 } },
    ],
  },
  {
    name: 'postgres-list',
    minutesMax: 0.5,
    what: 'PostgreSQL: list, repeated',
    operation: 'list',
    isOnPostgres: true,
    contenders: ON_POSTGRES,
    goals: [],
  },
  {
    name: 'postgres-get',
    minutesMax: 0.5,
    what: 'PostgreSQL: get',
    operation: 'get',
    isOnPostgres: true,
    contenders: ON_POSTGRES,
    goals: [],
  },
  {
    name: 'postgres-create',
    minutesMax: 3.5,
    what: 'PostgreSQL: create, durable',
    operation: 'create',
    isOnPostgres: true,
    contenders: ON_POSTGRES,
    goals: [
      { against: 'go-pg', bound: { atLeast: 2 } },
      { against: 'bare-pg', bound: { atLeast: 2 }, isByRate: true },
    ],
  },
];

export const OPERATION_MEASUREMENTS: Measurement[] = COMPARISONS.map((comparison) => ({
  name: comparison.name,
  minutesMax: comparison.minutesMax,
  run: (bench) => measure(bench, comparison),
}));

async function measure(bench: Bench, comparison: Comparison): Promise<Outcome> {
  const { what, isOnPostgres = false, contenders } = comparison;
  if (!isOnPostgres) return compare(bench, comparison);
  bench.progress.show(`${what}: starting PostgreSQL`);
  try {
    await using databases = await Databases.start();
    return await compare(bench, comparison, databases);
  } catch (error) {
    if (!(error instanceof NoPostgres)) throw error;
    const why = error.message;
    return {
      rows: comparison.goals.map((goal) => unmeasuredRow(rowParts(comparison, goal), why)),
      cells: ['petstore', ...contenders].map((contender) => ({ contender, column: what, why })),
    };
  }
}

/** Measures each contender once, for the table, and then those of the goals until these are decided. */
async function compare(
  given: Bench,
  comparison: Comparison,
  databases?: Databases,
): Promise<Outcome> {
  const { what, contenders, goals } = comparison;
  const startedMs = performance.now();
  const { runs, missing } = await prepare(given, comparison, databases);
  // The first build of a contender in Go can take minutes.
  const bench = { ...given, deadlineMs: given.deadlineMs + performance.now() - startedMs };
  bench.progress.show(`${what}: ${[...runs.keys()].join(', ')}`);
  const costs = await costRound(bench, [...runs.values()]);
  const medians = new Map(
    [...runs.keys()].map((name, index) => [name, median(costs[index] ?? [])]),
  );
  const cells = ['petstore', ...contenders].map((contender): Cell => {
    const cost = medians.get(contender);
    const figure = cost === undefined ? { why: missing.get(contender) ?? '' } : { median: cost };
    return { contender, column: what, ...figure };
  });
  const rows: Row[] = [];
  for (const isByRate of [false, true]) {
    const measurable: Goal[] = [];
    for (const goal of goals.filter((each) => (each.isByRate ?? false) === isByRate)) {
      const [of, against] = [runs.get('petstore'), runs.get(goal.against)];
      const parts = rowParts(comparison, goal);
      if (of !== undefined && against !== undefined) measurable.push({ ...parts, of, against });
      else rows.push(unmeasuredRow(parts, missing.get(goal.against) ?? ''));
    }
    if (measurable.length === 0) continue;
    rows.push(...(await (isByRate ? compareRates : compareCosts)(bench, measurable)));
  }
  return { rows, cells };
}

function rowParts({ what }: Comparison, { against, bound, isByRate = false }: Target) {
  const unit = 'atMost' in bound ? `× the cost of ${against}` : `× ${against}`;
  return { what, bound, unit, isByProcessorTime: !isByRate };
}

/** Fills the stores, and records for `bare` what the service responds. `missing` says why a contender has no run. */
async function prepare(bench: Bench, comparison: Comparison, databases: Databases | undefined) {
  const { what, operation, isConditional = false, animals = ANIMAL_COUNT } = comparison;
  const database = await databases?.create();
  const recipe =
    databases === undefined || database === undefined
      ? petstore(bench.key, await bench.stores.folderWith(animals))
      : {
          ...petstore(bench.key, bench.folder),
          environment: { DATABASE_URL: databases.server.url(database) },
        };
  return withContenders(bench, [recipe], async (service) => {
    const runs = new Map<string, Run>();
    const missing = new Map<string, string>();
    if (service === undefined) return { runs, missing };
    if (database !== undefined) await databases?.fill(database, animals);
    const headers = isConditional ? await conditionalHeaders(service) : undefined;
    const add = (each: Recipe) => {
      const load = { ...each.load(operation), ...(headers === undefined ? {} : { headers }) };
      // Only contenders on PostgreSQL work in it, one at a time.
      const withDatabase = databases === undefined ? each : { ...each, databasePid: databases.pid };
      runs.set(each.name, { recipe: withDatabase, load });
      return load;
    };
    const load = add(recipe);
    for (const name of comparison.contenders) {
      bench.progress.show(`${what}: preparing ${name}`);
      try {
        add(await recipeOf(name, { bench, databases, animals, service, load }));
      } catch (error) {
        missing.set(name, (error as Error).message.split('\n')[0] ?? '');
      }
    }
    return { runs, missing };
  });
}

async function conditionalHeaders({ url, recipe }: Contender): Promise<Record<string, string>> {
  const { paths, headers = {} } = recipe.load('list');
  const response = await fetch(`${url}${paths[0]}`, { headers });
  return { ...headers, 'If-None-Match': response.headers.get('ETag') ?? '' };
}

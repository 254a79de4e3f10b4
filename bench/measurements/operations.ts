import {
  alternate,
  startContender,
  type Bench,
  type Cell,
  type Measurement,
  type Outcome,
  type RoundResult,
} from '../bench.ts';
import type { Contender, Operation, Recipe } from '../contender.ts';
import { Databases, NoPostgres } from '../databases.ts';
import type { Load } from '../generator.ts';
import { recipeOf } from '../recipe-of.ts';
import { ANIMAL_COUNT, CURSOR_ANIMAL_COUNT, petstore } from '../recipes.ts';
import {
  compareRates,
  costFigure,
  costRatio,
  newRow,
  rateRatio,
  unmeasuredRow,
  type Bound,
  type Row,
} from '../row.ts';
import { inverse } from '../statistics.ts';

/** A target of the service in relation to one contender. */
interface Goal {
  against: string;
  /** `atLeast` compares requests per second of processor time, `atMost` their cost. */
  bound: Bound;
  /** Compares requests per second, which also depend on the disk. */
  isByRate?: boolean;
}

/** One operation, sent to several contenders in turn. */
interface Comparison {
  name: string;
  /** In the rows, and as a column of the table of contenders. */
  what: string;
  operation: Operation;
  /** Sends the ETag of the page, so that the response is 304. */
  isConditional?: boolean;
  isOnPostgres?: boolean;
  animals?: number;
  contenders: string[];
  goals: Goal[];
}

const ON_SQLITE = [
  'bare',
  'bare-tuned',
  'bare-sqlite',
  'go-sqlite',
  'fastify-sqlite',
  'pocketbase',
  'json-server',
];
const ON_POSTGRES = ['bare-pg', 'go-pg', 'fastify-pg'];

const COMPARISONS: Comparison[] = [
  {
    name: 'list',
    what: 'list, repeated',
    operation: 'list',
    contenders: ON_SQLITE,
    goals: [
      { against: 'bare', bound: { atLeast: 0.95 } },
      { against: 'fastify-sqlite', bound: { atLeast: 2.5 } },
      { against: 'json-server', bound: { atLeast: 10 } },
    ],
  },
  {
    name: 'not-modified',
    what: '304 of a list',
    operation: 'list',
    isConditional: true,
    contenders: ['bare', 'bare-tuned'],
    goals: [{ against: 'bare', bound: { atLeast: 0.9 } }],
  },
  {
    name: 'cursor',
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
    what: 'get',
    operation: 'get',
    contenders: ON_SQLITE,
    goals: [{ against: 'bare', bound: { atLeast: 0.9 } }],
  },
  {
    name: 'create',
    what: 'create, durable',
    operation: 'create',
    contenders: ON_SQLITE,
    goals: [
      { against: 'bare', bound: { atMost: 2.4 } },
      { against: 'go-sqlite', bound: { atLeast: 1.55 } },
      { against: 'fastify-sqlite', bound: { atLeast: 2 }, isByRate: true },
    ],
  },
  {
    name: 'postgres-list',
    what: 'PostgreSQL: list, repeated',
    operation: 'list',
    isOnPostgres: true,
    contenders: ON_POSTGRES,
    goals: [{ against: 'bare-pg', bound: { atLeast: 0.9 } }],
  },
  {
    name: 'postgres-get',
    what: 'PostgreSQL: get',
    operation: 'get',
    isOnPostgres: true,
    contenders: ON_POSTGRES,
    goals: [],
  },
  {
    name: 'postgres-create',
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
  run: (bench) => measure(bench, comparison),
}));

async function measure(bench: Bench, comparison: Comparison): Promise<Outcome> {
  if (comparison.isOnPostgres !== true) return compare(bench, comparison);
  bench.progress.show(`${comparison.what}: starting PostgreSQL`);
  try {
    await using databases = await Databases.start();
    return await compare(bench, comparison, databases);
  } catch (error) {
    if (!(error instanceof NoPostgres)) throw error;
    const missing = ['petstore', ...comparison.contenders].map((name) => [name, error.message]);
    return reportOf(comparison, new Map(), new Map(missing as [string, string][]));
  }
}

async function compare(
  bench: Bench,
  comparison: Comparison,
  databases?: Databases,
): Promise<Outcome> {
  const { what, operation, isConditional = false, animals = ANIMAL_COUNT } = comparison;
  await using running = new AsyncDisposableStack();
  const start = async (recipe: Recipe) => {
    const contender = await startContender(bench, withDatabase(recipe, databases));
    running.defer(() => contender.stop());
    return contender;
  };
  const service = await startService(bench, { start, databases, animals });
  const headers = isConditional ? await conditionalHeaders(service) : undefined;
  const loadOf = ({ load }: Recipe): Load =>
    headers === undefined ? load(operation) : { ...load(operation), headers };
  const missing = new Map<string, string>();
  const runs = [{ contender: service, load: loadOf(service.recipe) }];
  for (const name of comparison.contenders) {
    bench.progress.show(`${what}: starting ${name}`);
    try {
      const load = loadOf(service.recipe);
      const contender = await start(
        await recipeOf(name, { bench, databases, animals, service, load }),
      );
      runs.push({ contender, load: loadOf(contender.recipe) });
    } catch (error) {
      missing.set(name, (error as Error).message.split('\n')[0] ?? '');
    }
  }
  const results = await alternate(bench, what, runs);
  const byName = runs.map(
    ({ contender }, index) => [contender.name, results[index] ?? []] as const,
  );
  return reportOf(comparison, new Map(byName), missing);
}

/** Only the service and contenders of `databases` work in PostgreSQL. */
function withDatabase(recipe: Recipe, databases: Databases | undefined): Recipe {
  return databases === undefined ? recipe : { ...recipe, databasePid: databases.pid };
}

async function startService(
  bench: Bench,
  parts: {
    start: (recipe: Recipe) => Promise<Contender>;
    databases: Databases | undefined;
    animals: number;
  },
): Promise<Contender> {
  const { start, databases, animals } = parts;
  if (databases === undefined) {
    return start(petstore(bench.key, await bench.stores.folderWith(animals)));
  }
  const name = await databases.create();
  const settings = ['--database', databases.server.url(name)];
  const service = await start(petstore(bench.key, bench.folder, settings));
  await databases.fill(name, animals);
  return service;
}

async function conditionalHeaders({ url, recipe }: Contender): Promise<Record<string, string>> {
  const { paths, headers = {} } = recipe.load('list');
  const response = await fetch(`${url}${paths[0]}`, { headers });
  return { ...headers, 'If-None-Match': response.headers.get('ETag') ?? '' };
}

/** `missing` says why a contender was not measured. */
function reportOf(
  { what, goals, contenders }: Comparison,
  results: ReadonlyMap<string, RoundResult[]>,
  missing: ReadonlyMap<string, string>,
): Outcome {
  const cells = ['petstore', ...contenders].map((contender): Cell => {
    const figure = costFigure(results.get(contender) ?? []);
    if (figure !== undefined) return { contender, column: what, figure };
    return { contender, column: what, why: missing.get(contender) ?? 'needs Linux' };
  });
  const rows = goals.map(({ against, bound, isByRate = false }): Row => {
    const unit = 'atMost' in bound ? `× the cost of ${against}` : `× ${against}`;
    const parts = { what, bound, unit, isByProcessorTime: !isByRate };
    const [of, other] = [results.get('petstore'), results.get(against)];
    if (of === undefined || other === undefined) {
      return unmeasuredRow(parts, missing.get(against) ?? '');
    }
    if (isByRate)
      return newRow({ ...parts, figure: rateRatio(of, other), note: compareRates(of, other) });
    const cost = costRatio(of, other);
    return newRow({ ...parts, figure: 'atMost' in bound ? cost : inverse(cost) });
  });
  return { rows, cells };
}

import { readFileSync } from 'node:fs';
import { OPERATIONS } from './load.ts';
import type { Cell, Row } from './measure.ts';
import { median, newFigure, quantity, ratiosOf, verdictOf, type Bound } from './statistics.ts';

/** What a run has found, and where. */
export interface Results {
  origin: string[];
  /** What could not be measured, and why. */
  missing: string[];
  /** Of a page of 20 animals with its head. */
  pageBytes: number;
  sqlite: Row[];
  postgres: Row[];
  growth: Row[];
}

interface Goal {
  table: 'sqlite' | 'postgres' | 'growth';
  operation: string;
  of: string;
  against: string;
  /** `atLeast` compares requests per processor time, `atMost` their cost. */
  bound: Bound;
}

const PETSTORE = { table: 'sqlite', of: 'petstore' } as const;
const GROWTH = {
  table: 'growth',
  of: '10,000,000 animals',
  against: '1,000 animals',
  bound: { atMost: 1.15 },
} as const;

const GOALS: readonly Goal[] = [
  { ...PETSTORE, operation: 'list by cursor', against: 'go', bound: { atLeast: 1.5 } },
  { ...PETSTORE, operation: 'create', against: 'bare', bound: { atMost: 1.9 } },
  { ...PETSTORE, operation: 'create', against: 'go', bound: { atLeast: 2 } },
  { ...PETSTORE, operation: 'mixed', against: 'go', bound: { atLeast: 1.8 } },
  { ...PETSTORE, table: 'postgres', operation: 'create', against: 'go', bound: { atLeast: 2 } },
  { ...GROWTH, operation: 'list by cursor' },
  { ...GROWTH, operation: 'get' },
  { ...GROWTH, operation: 'create' },
];

const MEMORY_MIB_MAX = 105;
const REQUEST_RATES = [1_000, 10_000, 100_000];
/** Of the mixed load. */
const LIST_SHARE = 0.9;
/** A process is planned to use this much of a core, so that bursts find room. */
const UTILIZATION = 0.6;

/** docs/benchmarks.md: the text of page.md with the tables. */
export function benchmarksPage(results: Results): string {
  const rounds = results.sqlite[0]?.cells['list']?.rates.length ?? 0;
  const parts: Record<string, string> = {
    origin: list(results.origin),
    sqlite: rateTable(results.sqlite),
    postgres: rateTable(results.postgres),
    rounds: String(rounds),
    starts: String(results.sqlite[0]?.memoryMib.length ?? 0),
    goals: goalTable(results),
    missing: list(results.missing),
    capacity: capacityTable(results),
  };
  const template = readFileSync(new URL('./page.md', import.meta.url), 'utf8');
  return template.replace(/\{\{(\w+)\}\}\n?/g, (mark, name: string) => {
    const text = parts[name] ?? '';
    // A part that has a line for itself, and is empty, leaves none.
    return mark.endsWith('\n') && text !== '' ? `${text}\n` : text;
  });
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [head, head.map(() => '---'), ...lines];
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rateTable(rows: readonly Row[]): string {
  if (rows.length === 0) return 'Not measured.';
  const lines = rows.map(({ contender, cells, memoryMib }) => [
    contender,
    ...OPERATIONS.map((operation) => rateOf(cells[operation])),
    quantity(Math.round(median(memoryMib))),
  ]);
  return table(['', ...OPERATIONS, 'memory'], lines);
}

function rateOf(cell: Cell | undefined): string {
  if (cell === undefined) return '–';
  const [rate, half, most] = [cell.rates, cell.p50Ms, cell.p99Ms].map(median);
  return `${quantity(Math.round(rate ?? 0))} (${quantity(half ?? 0)}, ${quantity(most ?? 0)})`;
}

function goalTable(results: Results): string {
  const lines = GOALS.map((goal) => goalCells(results, goal));
  const memory = results.sqlite[0]?.memoryMib ?? [];
  const isMet = Math.max(...memory) <= MEMORY_MIB_MAX;
  const goal = `at most ${MEMORY_MIB_MAX} MiB`;
  const measured = memory.map((mib) => quantity(Math.round(mib))).join(', ');
  lines.push(['memory at the end, on SQLite', goal, measured, isMet ? 'yes' : 'no', '']);
  return table(['', 'goal', 'measured', 'met', 'µs per request'], lines);
}

function goalCells(results: Results, { table: name, operation, of, against, bound }: Goal) {
  const what = {
    sqlite: operation,
    postgres: `${operation}, PostgreSQL`,
    growth: `${operation}, ${of}`,
  };
  const goal =
    'atLeast' in bound
      ? `at least ${quantity(bound.atLeast)} × ${against}`
      : `at most ${quantity(bound.atMost)} × the cost of ${against}`;
  const costs = cellOf(results[name], of, operation)?.microseconds;
  const others = cellOf(results[name], against, operation)?.microseconds;
  if (costs === undefined || others === undefined) return [what[name], goal, '–', '', ''];
  const figure = newFigure('atLeast' in bound ? ratiosOf(others, costs) : ratiosOf(costs, others));
  const { low, high } = figure;
  const interval = Number.isFinite(low) ? ` (${quantity(low)} – ${quantity(high)})` : '';
  const measured = `${quantity(figure.median)}${interval}`;
  const micro = `${quantity(median(costs))} against ${quantity(median(others))}`;
  return [what[name], goal, measured, verdictOf(bound, figure), micro];
}

function cellOf(rows: readonly Row[], contender: string, operation: string): Cell | undefined {
  return rows.find((row) => row.contender === contender)?.cells[operation];
}

/** How many cores the mixed load takes at each rate, and how many processes that are planned to be busy for 60 %. */
function capacityTable({ sqlite, postgres, pageBytes }: Results): string {
  const total = costOf(postgres, ({ microseconds }) => microseconds);
  const database = costOf(postgres, ({ databaseMicroseconds }) => databaseMicroseconds);
  const onSqlite = costOf(sqlite, ({ microseconds }) => microseconds);
  const megabits = (LIST_SHARE * pageBytes * 8) / 1e6;
  const lines: [title: string, value: (rate: number) => number][] = [
    ['responses to lists, Mbit/s', (rate) => Math.round(rate * megabits)],
    ['SQLite: busy cores', (rate) => coresFor(rate, onSqlite)],
    ['SQLite: workers', (rate) => processesFor(rate, onSqlite)],
    ['PostgreSQL: busy cores of the processes', (rate) => coresFor(rate, total - database)],
    [
      'PostgreSQL: processes, with up to 10 connections each',
      (rate) => processesFor(rate, total - database),
    ],
    ['PostgreSQL: its own busy cores', (rate) => coresFor(rate, database)],
  ];
  return table(
    ['requests per second', ...REQUEST_RATES.map(quantity)],
    lines.map(([title, value]) => [
      title,
      ...REQUEST_RATES.map((rate) => (Number.isNaN(value(rate)) ? '–' : quantity(value(rate)))),
    ]),
  );
}

/** Of the service, per request of the mixed load. */
function costOf(rows: readonly Row[], of: (cell: Cell) => number[]): number {
  const cell = cellOf(rows, 'petstore', 'mixed');
  return cell === undefined ? Number.NaN : median(of(cell));
}

function coresFor(rate: number, microseconds: number): number {
  return (rate * microseconds) / 1e6;
}

function processesFor(rate: number, microseconds: number): number {
  return Math.ceil(coresFor(rate, microseconds) / UTILIZATION);
}

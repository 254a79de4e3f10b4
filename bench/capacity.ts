// The model behind docs/capacity.md: how many processes and cores a load needs, and what PostgreSQL must do for it.
// `npm run bench -- capacity --write` measures its factors.

import { quantity } from './row.ts';

/** Measured. Microseconds are processor time per request; every list is by cursor and not cached. */
export interface Factors {
  sqliteListMicroseconds: number;
  sqliteCreateMicroseconds: number;
  listProcessMicroseconds: number;
  listDatabaseMicroseconds: number;
  createProcessMicroseconds: number;
  createDatabaseMicroseconds: number;
  /** A batch takes `commitMs`, and `createMs` more per create. It holds the lock of the counter nearly all the time. */
  commitMs: number;
  createMs: number;
  commitWalBytes: number;
  createWalBytes: number;
  responseBytes: number;
  sqliteBytesPerAnimal: number;
  tableBytesPerAnimal: number;
  indexBytesPerAnimal: number;
}

const REQUEST_RATES = [1_000, 10_000, 100_000];
const CREATE_SHARE = 0.1;
/** A process is planned to use this much of a core, so that bursts find room. */
const UTILIZATION = 0.6;
/** As in src/storage/postgres/store.ts and creates.ts. */
const CONNECTIONS_PER_PROCESS = 10;
const BATCH_CREATES_MAX = 500;

/** What one rate of requests needs. */
export interface Plan {
  lists: number;
  creates: number;
  sqliteCores: number;
  processCores: number;
  databaseCores: number;
  createsPerCommit: number;
  commits: number;
  /** How much of the time the lock of the counter is held by someone. */
  orderShare: number;
  walBytes: number;
  responseBits: number;
}

export function planFor(requests: number, factors: Factors): Plan {
  const creates = requests * CREATE_SHARE;
  const lists = requests - creates;
  const cores = (list: number, create: number) => (lists * list + creates * create) / 1e6;
  // Creates that arrive while a batch holds the lock share the next one: size = rate × (commit + size × create).
  const { commitMs, createMs } = factors;
  const waiting = (creates * commitMs) / 1000 / (1 - (creates * createMs) / 1000);
  const createsPerCommit = Math.max(1, waiting);
  const commits = creates / createsPerCommit;
  return {
    lists,
    creates,
    sqliteCores: cores(factors.sqliteListMicroseconds, factors.sqliteCreateMicroseconds),
    processCores: cores(factors.listProcessMicroseconds, factors.createProcessMicroseconds),
    databaseCores: cores(factors.listDatabaseMicroseconds, factors.createDatabaseMicroseconds),
    createsPerCommit,
    commits,
    orderShare: creates / createsMax(factors, commitMs),
    walBytes: commits * factors.commitWalBytes + creates * factors.createWalBytes,
    responseBits: lists * factors.responseBytes * 8,
  };
}

/** The most creates per second of all processes together, with full batches. */
export function createsMax({ createMs }: Factors, commitMs: number): number {
  return (1000 * BATCH_CREATES_MAX) / (commitMs + BATCH_CREATES_MAX * createMs);
}

/** The generated part of docs/capacity.md. */
export function capacityTables(factors: Factors): string {
  return [
    '### The factors\n',
    ...factorTable(factors),
    '\n### 90 % lists, 10 % creates\n',
    ...loadTable(factors),
  ].join('\n');
}

function factorTable(factors: Factors): string[] {
  return table([
    ['', 'figure', 'command'],
    [
      'list by cursor on SQLite',
      micro(factors.sqliteListMicroseconds),
      '`npm run bench -- cursor`',
    ],
    ['create on SQLite', micro(factors.sqliteCreateMicroseconds), '`npm run bench -- create`'],
    ...[
      [
        'list by cursor on PostgreSQL: the process, PostgreSQL',
        `${micro(factors.listProcessMicroseconds)}, ${micro(factors.listDatabaseMicroseconds)}`,
      ],
      [
        'create on PostgreSQL: the process, PostgreSQL',
        `${micro(factors.createProcessMicroseconds)}, ${micro(factors.createDatabaseMicroseconds)}`,
      ],
      [
        'time of a batch, which holds the lock: per commit, per create',
        `${factors.commitMs.toFixed(2)} ms, ${micro(factors.createMs * 1000)}`,
      ],
      [
        'WAL: per commit, per create',
        `${quantity(factors.commitWalBytes)} bytes, ${quantity(factors.createWalBytes)} bytes`,
      ],
      ['a page of 20 animals with its head', `${quantity(factors.responseBytes)} bytes`],
      [
        'bytes per animal: SQLite, table and indexes of PostgreSQL',
        [factors.sqliteBytesPerAnimal, factors.tableBytesPerAnimal, factors.indexBytesPerAnimal]
          .map(quantity)
          .join(', '),
      ],
    ].map((cells) => [...cells, '`npm run bench -- capacity`']),
  ]);
}

function loadTable(factors: Factors): string[] {
  const plans = REQUEST_RATES.map((requests) => planFor(requests, factors));
  const row = (label: string, value: (plan: Plan) => string) => [label, ...plans.map(value)];
  return table([
    ['requests per second', ...REQUEST_RATES.map(quantity)],
    row('lists, creates per second', ({ lists, creates }) => `${whole(lists)}, ${whole(creates)}`),
    row('responses to lists', ({ responseBits }) => `${whole(responseBits / 1e6)} Mbit/s`),
    row('**SQLite, one machine:** busy cores', ({ sqliteCores }) => quantity(sqliteCores)),
    row('workers, each 60 % busy', ({ sqliteCores }) => whole(processes(sqliteCores))),
    row('**PostgreSQL:** busy cores of the processes', ({ processCores }) =>
      quantity(processCores),
    ),
    row('processes, each 60 % busy', ({ processCores }) => whole(processes(processCores))),
    row('connections at most', ({ processCores }) =>
      whole(CONNECTIONS_PER_PROCESS * processes(processCores)),
    ),
    row('busy cores of PostgreSQL', ({ databaseCores }) => quantity(databaseCores)),
    row('round trips per second at most', ({ lists, commits }) => whole(lists + commits)),
    row('commits per second', ({ commits }) => whole(commits)),
    row('creates per commit', ({ createsPerCommit }) => quantity(createsPerCommit)),
    row('WAL', ({ walBytes }) => `${quantity(walBytes / 1e6)} MB/s`),
    row('creates, of the most that their order allows', ({ orderShare }) => {
      return `${quantity(orderShare * 100)} %`;
    }),
  ]);
}

function micro(value: number): string {
  return `${quantity(value)} µs`;
}

function whole(value: number): string {
  return quantity(Math.round(value));
}

function processes(cores: number): number {
  return Math.ceil(cores / UTILIZATION);
}

function table([head = [], ...rows]: string[][]): string[] {
  return [tableLine(head), `|${'---|'.repeat(head.length)}`, ...rows.map(tableLine)];
}

function tableLine(cells: string[]): string {
  return `| ${cells.join(' | ')} |`;
}

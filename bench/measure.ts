import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start, type Contender, type Server } from './contenders.ts';
import { sendLoad } from './load.ts';
import { familyOf, memoryMib, processorMicroseconds } from './processes.ts';

/** Of one operation and one contender, one value per round. */
export interface Cell {
  rates: number[];
  p50Ms: number[];
  p99Ms: number[];
  /** Processor time per request, that of a database included, and that of the database alone. */
  microseconds: number[];
  databaseMicroseconds: number[];
}

export interface Row {
  contender: string;
  memoryMib: number[];
  /** By operation. */
  cells: Record<string, Cell>;
}

export interface Plan {
  what: string;
  key: string;
  folder: string;
  /** Called at the beginning of each step. */
  report: (step: string) => void;
  /** How often the contenders start anew, and the rounds after each start. */
  starts: number;
  rounds: number;
  contenders: readonly Contender[];
  /** The requests of each operation, as lines of load.lua. */
  operations: Readonly<Record<string, (contender: Contender) => string[]>>;
  /** The process of the database. */
  databasePid?: number;
}

const SECONDS = 1;
/** After each start, so that code is compiled and caches are filled. */
const WARM_UP_ROUNDS = 2;
/** For what a server does after its last response. */
const SETTLE_MS = 20;

/**
 * Measures every operation of every contender once per round. A shared host changes its speed within seconds, so the
 * contenders take turns of a second, in the opposite order in every second round: a ratio compares what was measured in
 * the same round.
 */
export async function measure(plan: Plan): Promise<Row[]> {
  const { what, contenders, starts, rounds, report } = plan;
  const operations = Object.keys(plan.operations);
  const files = requestFiles(plan);
  const rows = contenders.map(({ name }): Row => {
    const cells = Object.fromEntries(operations.map((operation) => [operation, newCell()]));
    return { contender: name, memoryMib: [], cells };
  });
  for (let begun = 1; begun <= starts; begun += 1) {
    report(`${what}: start ${begun} of ${starts}`);
    const servers: Server[] = [];
    try {
      for (const contender of contenders) servers.push(await start(contender, plan.key));
      const entries = servers.map((server, index) => ({ server, row: rows[index] }));
      for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round += 1) {
        report(`${what}: start ${begun} of ${starts}, round ${round} of ${rounds}`);
        for (const operation of operations) {
          for (const { server, row } of round % 2 === 0 ? entries : entries.toReversed()) {
            const file = files.get(`${server.name} ${operation}`) ?? '';
            const cell = round <= 0 ? undefined : row?.cells[operation];
            await measureOnce(server, { ...plan, file }, cell ?? newCell());
          }
        }
      }
      for (const { server, row } of entries) row?.memoryMib.push(memoryMib(server.pids));
    } finally {
      for (const server of servers) await server.stop();
    }
  }
  return rows;
}

function requestFiles({ contenders, operations, folder }: Plan): Map<string, string> {
  const files = new Map<string, string>();
  for (const contender of contenders) {
    for (const [operation, requestsOf] of Object.entries(operations)) {
      const name = `${contender.name} ${operation}`;
      const file = join(folder, `${name}.txt`);
      writeFileSync(file, requestsOf(contender).join('\n'));
      files.set(name, file);
    }
  }
  return files;
}

function newCell(): Cell {
  return { rates: [], p50Ms: [], p99Ms: [], microseconds: [], databaseMicroseconds: [] };
}

async function measureOnce(
  { url, pids }: Server,
  { file, key, databasePid }: Pick<Plan, 'key' | 'databasePid'> & { file: string },
  cell: Cell,
): Promise<void> {
  const read = () => [pids, familyOf(databasePid)].map(processorMicroseconds);
  const [ownBefore = 0, databaseBefore = 0] = read();
  const { requests, rate, p50Ms, p99Ms } = await sendLoad(url, { file, key }, SECONDS);
  await sleep(SETTLE_MS);
  const [own = 0, database = 0] = read();
  const databaseMicroseconds = (database - databaseBefore) / requests;
  cell.rates.push(rounded(rate));
  cell.p50Ms.push(rounded(p50Ms));
  cell.p99Ms.push(rounded(p99Ms));
  cell.microseconds.push(rounded((own - ownBefore) / requests + databaseMicroseconds));
  cell.databaseMicroseconds.push(rounded(databaseMicroseconds));
}

/** As many digits as the file of results needs. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

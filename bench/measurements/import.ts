import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { animalJson } from '../animals.ts';
import type { Bench, Outcome } from '../bench.ts';
import { memoryMib } from '../processes.ts';
import { NODE_FLAGS } from '../../harness/command.ts';
import { untilDecided } from '../rounds.ts';
import { newRow, quantity, unmeasuredRow } from '../row.ts';

const SMALL_COUNT = 100_000;
const LARGE_COUNT = 1_000_000;
const QUICK_LARGE_COUNT = 200_000;
const WRITE_ROWS = 10_000;
const MEMORY_POLL_MS = 20;
/** Memory must not grow with the file. In a longer run the garbage collector may use slightly more. */
const FLAT_RATIO = 1.25;

/** Measures the highest memory use for a small and a large file, and rows per second. */
export async function measureImport(bench: Bench): Promise<Outcome> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  const sizes = `from ${quantity(SMALL_COUNT)} to ${quantity(largeCount)} rows`;
  const rates: number[] = [];
  const goals = ['import', 'export'].map((command) => ({
    what: `${command}: memory ${sizes}`,
    bound: { atMost: FLAT_RATIO },
    unit: '×',
  }));
  const bounds = goals.map(({ bound }) => bound);
  const values = await untilDecided(bench, 'import and export', bounds, async () => {
    const [small, large] = [await transfer(bench, SMALL_COUNT), await transfer(bench, largeCount)];
    rates.push(largeCount / large.imported.seconds);
    return [
      large.imported.peakMib / small.imported.peakMib,
      large.exported.peakMib / small.exported.peakMib,
    ];
  });
  const memoryRows = goals.map((goal, index) => {
    const measured = values[index] ?? [];
    if (measured.some(Number.isNaN)) return unmeasuredRow(goal, 'needs Linux');
    return newRow({ ...goal, values: measured });
  });
  const what = `import of ${quantity(largeCount)} rows with their check, NDJSON into SQLite`;
  const note = 'including the start of the process, not pinned to a core';
  return { rows: [newRow({ what, unit: 'rows/s', values: rates, note }), ...memoryRows] };
}

interface CommandRun {
  seconds: number;
  /** NaN on systems without /proc. */
  peakMib: number;
}

/** Imports this many animals into an empty store, and exports them again. */
async function transfer(bench: Bench, count: number) {
  const file = join(bench.folder, `animals-${count}.ndjson`);
  if (!existsSync(file)) await writeAnimals(file, count);
  const data = join(bench.folder, `import-${count}`);
  const imported = await runCommand(['import', file, '--create', '--data', data]);
  const exported = await runCommand(['export', '--data', data]);
  bench.stores.remove(data);
  return { imported, exported };
}

async function writeAnimals(file: string, count: number): Promise<void> {
  const output = createWriteStream(file);
  for (let first = 1; first <= count; first += WRITE_ROWS) {
    const lines = Array.from({ length: Math.min(WRITE_ROWS, count - first + 1) }, (_, index) =>
      JSON.stringify(animalJson(first + index)),
    );
    if (!output.write(`${lines.join('\n')}\n`)) await once(output, 'drain');
  }
  output.end();
  await once(output, 'close');
}

async function runCommand(args: string[]): Promise<CommandRun> {
  const startedMs = performance.now();
  const command = [...NODE_FLAGS, join(import.meta.dirname, '../../bin/petstore.js'), ...args];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] });
  let peakMib = Number.NaN;
  const poll = setInterval(() => {
    peakMib = memoryMib(child.pid)?.peak ?? peakMib;
  }, MEMORY_POLL_MS);
  const [code] = (await once(child, 'exit')) as [number];
  clearInterval(poll);
  if (code !== 0) throw new Error(`petstore ${args[0]} ended with ${code}`);
  return { seconds: (performance.now() - startedMs) / 1000, peakMib };
}

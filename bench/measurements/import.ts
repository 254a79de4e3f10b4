import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { animalJson } from '../animals.ts';
import type { Bench, Outcome } from '../bench.ts';
import { memoryMib } from '../processes.ts';
import { NODE_FLAGS } from '../recipes.ts';
import { newRow, quantity, unmeasuredRow, type Row } from '../row.ts';
import { newFigure } from '../statistics.ts';

const SMALL_COUNT = 100_000;
const LARGE_COUNT = 1_000_000;
const QUICK_LARGE_COUNT = 200_000;
const IMPORTS = 3;
const WRITE_ROWS = 10_000;
const MEMORY_POLL_MS = 20;
/** Memory must not grow with the file. In a longer run the garbage collector may use slightly more. */
const FLAT_RATIO = 1.25;

/** Measures rows per second and the highest memory use, for a small and a large file. */
export async function measureImport(bench: Bench): Promise<Outcome> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  const small = await transfer(bench, SMALL_COUNT);
  const large = [];
  for (let count = 1; count <= IMPORTS; count += 1) large.push(await transfer(bench, largeCount));
  const sizes = `from ${quantity(SMALL_COUNT)} to ${quantity(largeCount)} rows`;
  const [first = small] = large;
  return {
    rows: [
      newRow({
        what: `import of ${quantity(largeCount)} rows with their check, NDJSON into SQLite`,
        bound: { atLeast: 200_000 },
        unit: 'rows/s',
        figure: newFigure(large.map(({ imported }) => largeCount / imported.seconds)),
        note: 'including the start of the process, not pinned to a core',
      }),
      memoryRow(`import: memory ${sizes}`, small.imported, first.imported),
      memoryRow(`export: memory ${sizes}`, small.exported, first.exported),
    ],
  };
}

interface CommandRun {
  seconds: number;
  peakMib: number | undefined;
}

function memoryRow(what: string, small: CommandRun, large: CommandRun): Row {
  const parts = { what, bound: { atMost: FLAT_RATIO }, unit: '×' };
  if (small.peakMib === undefined || large.peakMib === undefined) {
    return unmeasuredRow(parts, 'needs Linux');
  }
  const figure = newFigure([large.peakMib / small.peakMib]);
  const note = `${quantity(small.peakMib)} MiB and ${quantity(large.peakMib)} MiB at most`;
  return newRow({ ...parts, figure, note });
}

/** Imports this many animals into an empty store, and exports them again. */
async function transfer(bench: Bench, count: number) {
  bench.progress.show(`import: writing a file of ${quantity(count)} animals`);
  const file = join(bench.folder, `animals-${count}.ndjson`);
  await writeAnimals(file, count);
  const data = join(bench.folder, `import-${count}`);
  bench.progress.show(`import: ${quantity(count)} animals`);
  const imported = await runCommand(['import', file, '--create', '--data', data]);
  bench.progress.show(`export: ${quantity(count)} animals`);
  const exported = await runCommand(['export', '--data', data]);
  bench.stores.remove(data);
  bench.stores.remove(file);
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
  let peakMib: number | undefined;
  const poll = setInterval(() => {
    peakMib = memoryMib(child.pid)?.peak ?? peakMib;
  }, MEMORY_POLL_MS);
  const [code] = (await once(child, 'exit')) as [number];
  clearInterval(poll);
  if (code !== 0) throw new Error(`petstore ${args[0]} ended with ${code}`);
  return { seconds: (performance.now() - startedMs) / 1000, peakMib };
}

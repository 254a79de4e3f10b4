import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { animalJson } from '../animals.ts';
import type { Bench, Row } from '../bench.ts';
import { peakMemoryMib, scriptPath } from '../contender.ts';
import { newRow, quantity, unmeasuredRow } from '../row.ts';
import { newFigure } from '../statistics.ts';

const SMALL_COUNT = 100_000;
const LARGE_COUNT = 5_000_000;
const QUICK_LARGE_COUNT = 500_000;
const WRITE_ROWS = 10_000;
const MEMORY_POLL_MS = 20;
/** Memory must not grow with the file. In a longer run the garbage collector may use slightly more. */
const FLAT_RATIO = 1.25;

/** Measures rows per second and the highest memory use, for a small and a large file. */
export async function measureImport(bench: Bench): Promise<Row[]> {
  const largeCount = bench.isQuick ? QUICK_LARGE_COUNT : LARGE_COUNT;
  const [small, large] = [await transfer(bench, SMALL_COUNT), await transfer(bench, largeCount)];
  const sizes = `from ${quantity(SMALL_COUNT)} to ${quantity(largeCount)} rows`;
  return [
    newRow({
      what: 'import into SQLite, NDJSON',
      bound: { atLeast: 100_000 },
      unit: 'rows/s',
      figure: newFigure([largeCount / large.import.seconds]),
      note: `${quantity(largeCount)} rows in ${large.import.seconds.toFixed(1)} s, including the start of the process, not pinned`,
    }),
    memoryRow(`import: memory ${sizes}`, small.import, large.import),
    memoryRow(`export: memory ${sizes}`, small.export, large.export),
  ];
}

interface CommandRun {
  seconds: number;
  memoryMib: number | undefined;
}

function memoryRow(what: string, small: CommandRun, large: CommandRun): Row {
  if (small.memoryMib === undefined || large.memoryMib === undefined) {
    return unmeasuredRow(what, `at most ${FLAT_RATIO} ×`, 'not measured: needs Linux');
  }
  const figure = newFigure([large.memoryMib / small.memoryMib]);
  const note = `${quantity(small.memoryMib)} MiB and ${quantity(large.memoryMib)} MiB at most`;
  return newRow({ what, bound: { atMost: FLAT_RATIO }, unit: '×', figure, note });
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
  return { import: imported, export: exported };
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
  const child = spawn(process.execPath, [scriptPath('../bin/petstore.js'), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let memoryMib: number | undefined;
  const poll = setInterval(() => {
    memoryMib = peakMemoryMib(child.pid) ?? memoryMib;
  }, MEMORY_POLL_MS);
  const [code] = (await once(child, 'exit')) as [number];
  clearInterval(poll);
  if (code !== 0) throw new Error(`petstore ${args[0]} ended with ${code}`);
  return { seconds: (performance.now() - startedMs) / 1000, memoryMib };
}

import { cpus, totalmem } from 'node:os';
import type { Cores } from './cores.ts';
import type { Generator } from './generator.ts';

const GIBIBYTE_BYTES = 1024 ** 3;

/** Describes the machine without anything that identifies it. */
export function describeMachine(cores: Cores, generator: Generator): string[] {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memoryGib = Math.round(totalmem() / GIBIBYTE_BYTES);
  return [
    `${model}, ${cores.count} cores, ${memoryGib} GiB, ${process.platform} ${process.arch}`,
    `Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'unknown'}`,
    `${generator.name}, 32 connections, ${
      cores.server === undefined
        ? 'server and generator not pinned to cores'
        : 'server and generator each pinned to its own core'
    }, ${generator.canSlice ? 'slices of 30 ms' : 'rounds of seconds instead of slices'}`,
  ];
}

import { cpus, loadavg, totalmem } from 'node:os';
import type { Cores } from './cores.ts';

const GIBIBYTE_BYTES = 1024 ** 3;

/** The machine in a few words; nothing that tells whose it is. */
export function describeMachine(cores: Cores, generator: string): string[] {
  const [load = 0] = loadavg();
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memoryGib = Math.round(totalmem() / GIBIBYTE_BYTES);
  return [
    `${model}, ${cores.count} cores, ${memoryGib} GiB, ${process.platform}`,
    `Node.js ${process.versions.node}, SQLite ${process.versions['sqlite'] ?? 'unknown'}`,
    `${generator}, 32 connections, ${
      cores.server === undefined
        ? 'server and generator on whatever cores the system gave them'
        : 'server and generator each pinned to a core of its own'
    }`,
    `load average before the start: ${load.toFixed(1)}; above 0.5, others use the machine too, and rates stray`,
  ];
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The cores of the server and of the load generator; undefined if the system cannot pin a process. */
export interface Cores {
  server: string | undefined;
  generator: string | undefined;
  count: number;
}

export function findCores(): Cores {
  const cores = allowedCores();
  const hasTaskset = spawnSync('taskset', ['--version']).status === 0;
  const [first, second] = cores;
  if (!hasTaskset || first === undefined || second === undefined) {
    return { server: undefined, generator: undefined, count: availableParallelism() };
  }
  return { server: String(first), generator: String(second), count: cores.length };
}

/** The command line that runs a command on these cores only. */
export function pinned(command: readonly string[], cores: string | undefined): string[] {
  return cores === undefined ? [...command] : ['taskset', '-c', cores, ...command];
}

/** The cores that this process may use. A container often has only some of them. */
function allowedCores(): number[] {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    return parseCoreList(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '');
  } catch {
    return [];
  }
}

/** Parses a list such as `0-3,8`. */
export function parseCoreList(text: string): number[] {
  return text
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = Number.NaN, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

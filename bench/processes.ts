import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { listProcesses } from '../harness/postgres-server.ts';

/** All contenders share one core, and the generator has another. */
export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;

export function pinned(
  command: readonly string[],
  core: number,
): [program: string, ...args: string[]] {
  return ['taskset', '-c', String(core), ...command];
}

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A run that is interrupted leaves no server behind. */
export function endWithBench<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** A process and all its descendants. */
export function familyOf(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const byParent = Map.groupBy(listProcesses(), ({ parent }) => parent);
  const below = (id: number): number[] => [
    id,
    ...(byParent.get(id) ?? []).flatMap((each) => below(each.pid)),
  ];
  return below(pid);
}

const MICROSECONDS_PER_TICK = 10_000;

/**
 * The processor time of all threads of these processes, exact while they wait, and that of their children that have
 * ended: PostgreSQL has a process for each connection. A thread that has ended counts no more.
 */
export function processorMicroseconds(pids: readonly number[]): number {
  const nanoseconds = pids.flatMap((pid) =>
    orNone(() => readdirSync(`/proc/${pid}/task`)).flatMap((task) =>
      orNone(() => [readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8')]).map((text) =>
        Number.parseInt(text, 10),
      ),
    ),
  );
  const ended = pids.flatMap((pid) => orNone(() => [readFileSync(`/proc/${pid}/stat`, 'utf8')]));
  return sum(nanoseconds) / 1000 + sum(ended.map(ticksOfEndedChildren)) * MICROSECONDS_PER_TICK;
}

/** The fields cutime and cstime. The name of the program, in brackets, may contain anything. */
function ticksOfEndedChildren(stat: string): number {
  const [, user = 0, system = 0] = /.*\)(?: \S+){13} (\d+) (\d+)/s.exec(stat)?.map(Number) ?? [];
  return user + system;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** The resident memory of these processes in mebibytes. */
export function memoryMib(pids: readonly number[]): number {
  const kibibytes = pids.map((pid) =>
    Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
  );
  return sum(kibibytes) / 1024;
}

/** The time in clock ticks since the start of the machine: all of it, what was used, and what its host took. */
export function machineTicks(): { total: number; busy: number; stolen: number } {
  const line = readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '';
  const times = line.split(/ +/).slice(1, 9).map(Number);
  const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = times;
  return { total: sum(times), busy: user + nice + system, stolen };
}

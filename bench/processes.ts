import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A run that is interrupted leaves no server behind, and no paused generator. */
export function endWithBench(child: ChildProcess): void {
  children.add(child);
  child.once('exit', () => children.delete(child));
}

/** The unit of times in /proc on current Linux systems. */
const CLOCK_TICK_MS = 10;

/** The processor time of a process and all its descendants, also of those that have ended. */
function processorMs(pid: number): number {
  return family(pid).reduce((total, { usedMs }) => total + usedMs, 0);
}

/** A process and all its descendants; none on systems without /proc. */
export function familyOf(pid: number | undefined): number[] {
  try {
    return family(pid).map((each) => each.pid);
  } catch {
    return [];
  }
}

function family(pid: number | undefined) {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const all = processes.flatMap((name) => readProcess(name) ?? []);
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const below = (id: number): typeof all =>
    (byParent.get(id) ?? []).flatMap((each) => [each, ...below(each.pid)]);
  return all.filter((each) => each.pid === pid).flatMap((each) => [each, ...below(each.pid)]);
}

/**
 * The processor time of all threads of these processes, exact while they wait; NaN if the system does not report it.
 * A thread or process that has ended counts no more, so the difference of two readings may be wrong then, or negative.
 */
export function processorMicroseconds(pids: readonly number[]): number {
  const nanoseconds = pids.flatMap((pid) =>
    orNone(() => readdirSync(`/proc/${pid}/task`)).flatMap((task) =>
      orNone(() => [readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8')]).map((text) =>
        Number.parseInt(text, 10),
      ),
    ),
  );
  if (nanoseconds.length === 0) return Number.NaN;
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
}

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** `usedMs` includes the time of ended children. Undefined if the process has ended meanwhile. */
function readProcess(name: string) {
  try {
    const status = readFileSync(`/proc/${name}/stat`, 'utf8');
    // The name is in brackets and may contain anything. The state and the parent follow it.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { pid: Number(name), parent: Number(fields[1]), usedMs: ticks * CLOCK_TICK_MS };
  } catch {
    return undefined;
  }
}

/** The memory of a process in mebibytes: now, and at most so far. Undefined on systems without /proc. */
export function memoryMib(pid: number | undefined): { resident: number; peak: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const mebibytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
    const [resident, peak] = [mebibytes('VmRSS'), mebibytes('VmHWM')];
    return Number.isNaN(resident + peak) ? undefined : { resident, peak };
  } catch {
    return undefined;
  }
}

/** Shares of the machine's processor time in an interval. */
export interface Disturbance {
  /** Taken by the host of a virtual machine. */
  stolen: number;
  /** Used by processes that this one did not start. */
  others: number;
}

/** A shared host takes some from a machine that is fully used, which alternating rounds bear. */
const STOLEN_MAX = 0.1;
const OTHERS_MAX = 0.05;

/** Why figures of this interval are not published; undefined if the machine was calm. */
export function reasonToRefuse({ stolen, others }: Disturbance): string | undefined {
  if (others > OTHERS_MAX) {
    return `other processes used ${percent(others)} of the machine (at most ${percent(OTHERS_MAX)})`;
  }
  if (stolen > STOLEN_MAX) {
    return `${percent(stolen)} of the processor time was stolen (at most ${percent(STOLEN_MAX)})`;
  }
  return undefined;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Measures how much the machine did for others since it was made. Ended children count as its own work. */
export class CalmWatch {
  readonly #before = readMachine();

  read(): Disturbance {
    const [before, after] = [this.#before, readMachine()];
    if (before === undefined || after === undefined) return { stolen: 0, others: 0 };
    const total = after.totalMs - before.totalMs;
    const own = after.ownMs - before.ownMs;
    return {
      stolen: (after.stolenMs - before.stolenMs) / total,
      others: Math.max(0, after.busyMs - before.busyMs - own) / total,
    };
  }
}

function readMachine() {
  try {
    const line = readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '';
    const times = line
      .split(/ +/)
      .slice(1, 9)
      .map((ticks) => Number(ticks) * CLOCK_TICK_MS);
    const [user = 0, nice = 0, system = 0, , , , , stolenMs = 0] = times;
    const totalMs = times.reduce((sum, time) => sum + time, 0);
    const ownMs = processorMs(process.pid);
    return { totalMs, stolenMs, busyMs: user + nice + system, ownMs };
  } catch {
    return undefined;
  }
}

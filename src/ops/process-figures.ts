import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, gauge, type Figure, type Measured } from './metrics.ts';

/** How often the delay of the event loop is measured. It is never reported as less than this. */
const DELAY_RESOLUTION_MS = 10;

/** What is known about this process without counting. */
export function processFigures(version: string): Measured {
  const build: Figure = {
    name: 'petstore_build_info',
    help: 'Always 1. The labels are the version of the service and that of Node.js.',
    type: 'gauge',
    values: [{ labels: { version, node: process.versions.node }, value: 1 }],
  };
  const help = 'Resident memory size in bytes.';
  const memory = () => gauge('process_resident_memory_bytes', help, process.memoryUsage.rss());
  return { figures: () => [build, memory()] };
}

/** What the runtime knows. Only a scrape reads it, because reading begins the delays of the event loop again. */
export function openRuntimeFigures(): Measured {
  const delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delays.enable();
  return {
    figures() {
      const { user, system } = process.cpuUsage();
      const late = 'Delay of the event loop since the last scrape';
      const figures = [
        counter('process_cpu_seconds_total', 'Processor time in seconds.', (user + system) / 1e6),
        gauge('process_start_time_seconds', 'When it started.', performance.timeOrigin / 1000),
        gauge('nodejs_heap_size_used_bytes', 'Used heap.', process.memoryUsage().heapUsed),
        gauge('nodejs_eventloop_lag_p99_seconds', `${late}, 99 %.`, delays.percentile(99) / 1e9),
        gauge('nodejs_eventloop_lag_max_seconds', `${late}, highest.`, delays.max / 1e9),
        ...fileFigures(),
      ];
      delays.reset();
      return figures;
    },
  };
}

function fileFigures(): Figure[] {
  const max = findFilesMax();
  if (max === undefined) return [];
  return [
    gauge('process_open_fds', 'Open files and sockets.', readdirSync('/proc/self/fd').length),
    gauge('process_max_fds', 'The most open files and sockets.', max),
  ];
}

/** How many files and sockets this process may have open, if that is known and limited. */
export function findFilesMax(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || undefined;
  } catch {
    // Only Linux has the file, and the permission model of Node.js may forbid it.
    return undefined;
  }
}

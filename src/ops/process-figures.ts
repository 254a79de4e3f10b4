import { gauge, type Figure, type Measured } from './metrics.ts';

/** What is known about this process without counting. */
export function processFigures(version: string): Measured {
  const build: Figure = {
    name: 'petstore_build_info',
    help: 'Always 1. The labels are the version of the service and that of Node.js.',
    type: 'gauge',
    aggregator: 'max',
    values: [{ labels: { version, node: process.versions.node }, value: 1 }],
  };
  const help = 'Resident memory size in bytes.';
  const memory = () => gauge('process_resident_memory_bytes', help, process.memoryUsage.rss());
  return { figures: () => [build, memory()] };
}

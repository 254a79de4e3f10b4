import type { Measurement } from '../bench.ts';
import { measureAccessLog } from './access-log.ts';
import { measureCapacity } from './capacity.ts';
import { measureInterference, measureSlowCreate } from './disk.ts';
import { measureImport } from './import.ts';
import { OPERATION_MEASUREMENTS } from './operations.ts';
import { measureGrowth, measureMemory, measureStart } from './size.ts';
import { measureWorkers } from './workers.ts';

export const MEASUREMENTS: Measurement[] = [
  ...OPERATION_MEASUREMENTS,
  { name: 'workers', minutesMax: 2, run: measureWorkers },
  { name: 'access-log', minutesMax: 4, run: measureAccessLog },
  { name: 'growth', minutesMax: 5, run: measureGrowth },
  { name: 'memory', minutesMax: 4, run: measureMemory },
  { name: 'start', minutesMax: 1, run: measureStart },
  { name: 'import', minutesMax: 2, run: measureImport },
  { name: 'slow-create', minutesMax: 2, run: measureSlowCreate },
  { name: 'interference', minutesMax: 1, run: measureInterference },
  { name: 'capacity', minutesMax: 1.5, run: measureCapacity },
];

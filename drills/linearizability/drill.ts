import { fileURLToPath } from 'node:url';
import type { Drill } from '../drill.ts';
import { drillLinearizability } from './linearizability.ts';

const UNCHECKED_CACHE = fileURLToPath(new URL('unchecked-cache.ts', import.meta.url));

export const drill: Drill = {
  purpose:
    'Concurrent creates, lists and gets through several processes on each store, with faults: one moment between start and end explains every operation, and ids are in the order of commits.',
  unit: 'histories',
  rounds: 1_000,
  quickRounds: 20,
  run: drillLinearizability,
  control: {
    brokenBy: 'a cache that does not check the version of the store',
    run: (options) => drillLinearizability({ ...options, main: UNCHECKED_CACHE }),
  },
};

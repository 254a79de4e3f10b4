import { fileURLToPath } from 'node:url';
import type { Drill } from '../drill.ts';
import { drillLinearizability } from './linearizability.ts';

const UNCHECKED_CACHE = fileURLToPath(new URL('unchecked-cache.ts', import.meta.url));

export const drill: Drill = {
  promise:
    'Reads are linearizable, ids are in the order of commits, and a reader that follows `rel="next"` sees every animal once, in order.',
  method:
    '6 clients create, list and get through 2 processes on SQLite or 3 on PostgreSQL, with killed processes, cut connections and restarts of PostgreSQL; an exact checker judges each history, and one more client follows the list all the while.',
  unit: 'histories',
  rounds: 1_000,
  quickRounds: 20,
  run: drillLinearizability,
  control: {
    brokenBy: 'a cache that does not check the version of the store',
    finds: ['did not see it'],
    run: (options) => drillLinearizability({ ...options, main: UNCHECKED_CACHE }),
  },
};

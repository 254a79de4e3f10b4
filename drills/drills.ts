import type { DrillList } from './program.ts';

/** Every drill by its name. Only the drills that run are loaded. */
export const DRILLS: DrillList = {
  crash: () => import('./crash/drill.ts'),
  'disk-full': () => import('./disk-full/drill.ts'),
  backup: () => import('./backup/drill.ts'),
  linearizability: () => import('./linearizability/drill.ts'),
  'rolling-load': () => import('./rolling/drill.ts'),
  'postgres-faults': () => import('./postgres/faults.ts'),
  'postgres-commits': () => import('./postgres/commits.ts'),
  'postgres-failover': () => import('./postgres/failover.ts'),
  pgbouncer: () => import('./postgres/pgbouncer.ts'),
  proxies: () => import('./proxies/drill.ts'),
};

import type { DrillList } from './program.ts';

/** Every drill by its name. Only the drills that run are loaded. */
export const DRILLS: DrillList = {
  catalogue: () => import('./catalogue/drill.ts'),
  'catalogue-older': () => import('./catalogue/older-drill.ts'),
  crash: () => import('./crash/drill.ts'),
  fleet: () => import('./fleet/drill.ts'),
export const DRILLS: Readonly<Record<string, () => Promise<{ drill: Drill }>>> = {
  contract: () => import('./contract/drill.ts'),
  backup: () => import('./backup/drill.ts'),
  'disk-full': () => import('./disk-full/drill.ts'),
  'hostile-http': () => import('./hostile-http/drill.ts'),
  mutation: () => import('./mutation/drill.ts'),
  'postgres-commits': () => import('./postgres/commits-drill.ts'),
  'postgres-faults': () => import('./postgres/faults-drill.ts'),
  'postgres-failover': () => import('./postgres/failover-drill.ts'),
  'postgres-markers': () => import('./postgres/markers-drill.ts'),
  'replaced-file': () => import('./sqlite/drill.ts'),
  'rolling-kill': () => import('./rolling/kill-drill.ts'),
  'rolling-load': () => import('./rolling/load-drill.ts'),
  'rolling-start': () => import('./rolling/start-drill.ts'),
  'stale-reads': () => import('./stale-reads/drill.ts'),
  'power-cut': () => import('./power-cut/drill.ts'),
  linearizability: () => import('./linearizability/drill.ts'),
  upgrade: () => import('./upgrade/drill.ts'),
  proxies: () => import('./parts/proxies.ts'),
  'proxy-idle': () => import('./parts/proxy-idle.ts'),
  pgbouncer: () => import('./parts/pgbouncer.ts'),
  'postgres-15': () => import('./parts/postgres-15.ts'),
  slowhttptest: () => import('./parts/slowhttptest.ts'),
  patroni: () => import('./parts/patroni.ts'),
  overload: () => import('./overload/drill.ts'),
};

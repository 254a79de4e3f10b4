import type { DrillList } from './program.ts';

/** Every drill by its name. Only the drills that run are loaded. */
export const DRILLS: DrillList = {
  backup: () => import('./backup/drill.ts'),
  proxies: () => import('./proxies/drill.ts'),
};

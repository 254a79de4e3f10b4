import type { Drill } from './drill.ts';

/** Every drill by its name. Only the drills that run are loaded. */
export const DRILLS: Readonly<Record<string, () => Promise<{ drill: Drill }>>> = {
  'hostile-http': () => import('./hostile-http/drill.ts'),
  mutation: () => import('./mutation/drill.ts'),
};

// The thread that checks a file which SQLite has called malformed. It is started when needed: the check of a large
// file takes seconds, in which the writer thread goes on.

import { parentPort, workerData } from 'node:worker_threads';
import { findFault, markDamaged } from './damage.ts';
import { whileBusy, type ThreadData } from './thread.ts';

/** What a check has found. A file with a fault is checked again, unless it is proven to be damaged. */
export interface CheckResult {
  fault: string | undefined;
  isDamaged: boolean;
}

/** How often a file that is suspected to be damaged is checked. */
const CHECK_INTERVAL_MS = 2_000;

if (parentPort === null) throw new Error('damage-check.ts must run in a worker thread');
const port = parentPort;
const { opened, isBusy } = workerData as ThreadData;
checkFile({ wasDamaged: false });

/** Damage is proven only if two checks find it: a disk that fails for a moment may look the same. */
function checkFile({ wasDamaged }: { wasDamaged: boolean }): void {
  const fault = whileBusy(isBusy, () => findFault(opened.realFile));
  const isDamaged = wasDamaged && fault?.isReadable === true;
  if (isDamaged) markDamaged(opened, fault.reason);
  else if (fault !== undefined) {
    setTimeout(() => checkFile({ wasDamaged: fault.isReadable }), CHECK_INTERVAL_MS);
  }
  port.postMessage({ fault: fault?.reason, isDamaged } satisfies CheckResult);
}

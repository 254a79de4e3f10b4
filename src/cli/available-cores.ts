import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';

const V1_ROOT = '/sys/fs/cgroup/cpu';

/**
 * How many cores this process may use, at least 1. Node.js respects the CPU affinity and the quota of cgroup v2,
 * but finds the quota of cgroup v1 only in some layouts: not in containers, and not if the controller `cpu` is
 * mounted alone. A part of a core does not count. The files of the system are below `root`.
 */
export function availableCores(root = ''): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(quotaOfCgroupV1(root))));
}

/** The quota of the cgroup of this process and of each one above it, in cores. Infinity without one. */
function quotaOfCgroupV1(root: string): number {
  const cgroups = contentOf(`${root}/proc/self/cgroup`);
  const line = /^\d+:(?:\w+,)*cpu(?:,\w+)*:(\/.*)/m.exec(cgroups);
  let quota = Number.POSITIVE_INFINITY;
  // A container sees its own cgroup as the root, but may not see the path that the line names.
  for (let path = line?.[1] ?? '/'; ; path = dirname(path)) {
    const limitUs = Number.parseInt(contentOf(`${root}${V1_ROOT}${path}/cpu.cfs_quota_us`), 10);
    const periodUs = Number.parseInt(contentOf(`${root}${V1_ROOT}${path}/cpu.cfs_period_us`), 10);
    // -1 is no limit.
    if (limitUs > 0 && periodUs > 0) quota = Math.min(quota, limitUs / periodUs);
    if (path === '/') return quota;
  }
}

/** Empty if the file cannot be read, as on systems without cgroups. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

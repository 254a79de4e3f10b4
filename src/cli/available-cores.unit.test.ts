import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { availableCores } from './available-cores.ts';

const ALL = availableParallelism();
const PERIOD = { 'cpu.cfs_period_us': 100_000 };
const ONE_CORE = { ...PERIOD, 'cpu.cfs_quota_us': 100_000 };
const NO_LIMIT = { ...PERIOD, 'cpu.cfs_quota_us': -1 };

const SYSTEMS: {
  what: string;
  /** The content of /proc/self/cgroup. */
  cgroups: string;
  /** The files of each cgroup, by its path. */
  files: Record<string, Record<string, number>>;
  cores: number;
}[] = [
  { what: 'without cgroups', cgroups: '', files: {}, cores: ALL },
  { what: 'without a limit', cgroups: '4:cpu:/a\n', files: { '/a': NO_LIMIT }, cores: ALL },
  { what: 'with one core', cgroups: '4:cpu:/a\n', files: { '/a': ONE_CORE }, cores: 1 },
  {
    what: 'with one core and a half',
    cgroups: '5:memory:/b\n4:cpu:/a\n0::/\n',
    files: { '/a': { ...PERIOD, 'cpu.cfs_quota_us': 150_000 } },
    cores: 1,
  },
  {
    what: 'with half a core',
    cgroups: '4:cpu:/a\n',
    files: { '/a': { ...PERIOD, 'cpu.cfs_quota_us': 50_000 } },
    cores: 1,
  },
  {
    what: 'whose parent has one core',
    cgroups: '12:cpu,cpuacct:/a/b\n',
    files: { '/a/b': NO_LIMIT, '/a': ONE_CORE, '/': NO_LIMIT },
    cores: 1,
  },
  {
    what: 'that sees its own cgroup as the root',
    cgroups: '12:cpuacct,cpu:/docker/1f2e\n',
    files: { '/': ONE_CORE },
    cores: 1,
  },
  {
    what: 'whose other controllers have limits',
    cgroups: '12:cpuset:/a\n11:cpuacct:/a\n',
    files: { '/a': ONE_CORE },
    cores: ALL,
  },
  {
    what: 'with a quota of no known period',
    cgroups: '4:cpu:/a\n',
    files: { '/a': { 'cpu.cfs_quota_us': 100_000 } },
    cores: ALL,
  },
];
for (const { what, cgroups, files, cores } of SYSTEMS) {
  test(`a process ${what} may use ${cores === ALL ? 'all' : cores} of the cores`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'petstore-cores-'));
    t.after(() => rmSync(root, { recursive: true }));
    const write = (folder: string, name: string, content: string) => {
      mkdirSync(join(root, folder), { recursive: true });
      writeFileSync(join(root, folder, name), content);
    };
    write('/proc/self', 'cgroup', cgroups);
    for (const [path, values] of Object.entries(files)) {
      for (const [name, value] of Object.entries(values)) {
        write(join('/sys/fs/cgroup/cpu', path), name, `${value}\n`);
      }
    }
    assert.equal(availableCores(root), cores);
  });
}

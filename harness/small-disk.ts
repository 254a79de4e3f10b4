import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Mounts a disk of this size in a new folder, with room for so many files. `unmount` removes both. */
export function mountSmallDisk(
  kibibytes: number,
  files = 10_000,
): { disk: string; unmount: () => void } {
  const disk = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${kibibytes}k,nr_inodes=${files}`, 'tmpfs', disk];
    execFileSync('mount', options, { stdio: 'ignore' });
  } catch (error) {
    rmdirSync(disk);
    throw error;
  }
  const unmount = () => {
    execFileSync('umount', ['--lazy', disk]);
    rmdirSync(disk);
  };
  return { disk, unmount };
}

export function canMount(): boolean {
  try {
    mountSmallDisk(8).unmount();
    return true;
  } catch {
    return false;
  }
}

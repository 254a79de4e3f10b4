import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;

/** The commit of the first release. */
export const VERSION_1_0_0 = 'f16e9e2';

/** A clone with only the newest commits cannot check out an older one. */
export function isInHistory(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0;
}

/**
 * The program as it was at a commit, in a temporary folder that is removed when this process ends. It uses the
 * packages of this version. `isServing` installs its own, because `serve` needs some that are no longer used.
 */
export function checkOut(commit: string, { isServing }: { isServing: boolean }): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-older-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', commit], {
    cwd: ROOT,
    maxBuffer: ARCHIVE_BYTES_MAX,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  if (isServing) {
    const flags = ['--omit=dev', '--omit=optional', '--ignore-scripts', '--no-audit'];
    execFileSync('npm', ['ci', ...flags], { cwd: folder, stdio: 'ignore' });
  } else {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  }
  return join(folder, 'bin', 'petstore.js');
}

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const ARCHIVE_BYTES_MAX = 256 * 1024 * 1024;

/** The commits of the releases before this version: the one place that names them. */
export const OLDER_VERSIONS = { '1.0.0': 'f16e9e2', '1.1.0': '7d0e55a' } as const;
export type OlderVersion = keyof typeof OLDER_VERSIONS;
export const RELEASES = Object.keys(OLDER_VERSIONS) as OlderVersion[];

/** A clone with only the newest commits cannot check out an older one. */
export function isInHistory(version: OlderVersion): boolean {
  const commit = `${OLDER_VERSIONS[version]}^{commit}`;
  return spawnSync('git', ['cat-file', '-e', commit], { cwd: ROOT }).status === 0;
}

/** The version that the program of an older release says it is. */
export function versionInHistory(version: OlderVersion): string {
  const file = `${OLDER_VERSIONS[version]}:package.json`;
  const text = execFileSync('git', ['show', file], { cwd: ROOT, encoding: 'utf8' });
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * The program of an older version, in a temporary folder that is removed when this process ends. It uses the
 * packages of this version. `isServing` installs its own, because `serve` needs some that are no longer used.
 */
export function checkOut(version: OlderVersion, { isServing }: { isServing: boolean }): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-older-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', OLDER_VERSIONS[version]], {
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

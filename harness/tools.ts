// Tools that the project itself does not need, such as those with their own TypeScript. Each set has a folder with
// its own lock file, and is installed outside the folders that the compiler checks.

import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { needs } from './needs.ts';

const FILES = ['package.json', 'package-lock.json', '.npmrc'];
const INSTALL_MS_MAX = 300_000;
const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Where the tools of a folder are installed. */
export function toolsFolder(folder: string): string {
  return join(ROOT, 'artifacts', basename(folder));
}

/**
 * Installs the tools of a folder unless its lock file is the one that was installed before. Returns the value for the
 * `skip` option of its tests: the reason if npm could not install them, or false.
 */
export async function installTools(folder: string): Promise<string | false> {
  try {
    await install(folder);
    return false;
  } catch (error) {
    const reason = unreachable(error);
    if (reason === undefined) throw error;
    return needs(`the npm registry: ${reason}`, false);
  }
}

/** Why a command could not download something, if that is why it failed. */
export function unreachable(error: unknown): string | undefined {
  return /.*(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|\bE?40[347]\b|dial tcp|NewConnectionError|Could not (?:resolve|transfer)|Name or service not known|No matching distribution).*/.exec(
    String(error),
  )?.[0];
}

async function install(folder: string): Promise<void> {
  const target = toolsFolder(folder);
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  const stamp = join(target, 'node_modules', '.stamp');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === lock) return;
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  for (const file of FILES) await cp(join(folder, file), join(target, file));
  const flags = ['--ignore-scripts', '--loglevel=error', '--fetch-retries=1'];
  await promisify(execFile)('npm', ['ci', ...flags], {
    cwd: target,
    shell: process.platform === 'win32',
    timeout: INSTALL_MS_MAX,
  });
  await writeFile(stamp, lock);
}

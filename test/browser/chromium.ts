import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { processVariables } from '../../src/config.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const INSTALL_TIMEOUT_MS = 200_000;
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/**
 * The browser of this machine. Where there is none, a root on Debian gets one from the system's own
 * packages; everybody else is told how to. A missing browser is a failure, not a skipped test.
 */
export function findChromium(): string {
  const given = processVariables['CHROMIUM_PATH'];
  if (given !== undefined && given !== '') {
    if (isProgram(given)) return given;
    throw new Error(`CHROMIUM_PATH is ${given}, and there is no program there.`);
  }
  const found = findOnPath() ?? (installFromDebian() ? findOnPath() : undefined);
  if (found !== undefined) return found;
  throw new Error(
    'No Chromium on this machine: install chromium or google-chrome, or name one in CHROMIUM_PATH.',
  );
}

function findOnPath(): string | undefined {
  const folders = (processVariables['PATH'] ?? '').split(delimiter);
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...candidates, ...PLACES].find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installFromDebian(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false;
  process.stderr.write('Installing Chromium from the packages of the system, once …\n');
  return runApt('update') && runApt('install', '-y', '--no-install-recommends', 'chromium');
}

function runApt(...args: string[]): boolean {
  const { status } = spawnSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    stdio: ['ignore', 'ignore', 2],
    env: { ...processVariables, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_TIMEOUT_MS,
  });
  return status === 0;
}

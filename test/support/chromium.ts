import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { processVariables } from '../../src/config.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FIXED_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
const INSTALL_TIMEOUT_MS = 200_000;

/**
 * Finds the browser of this machine. On Debian, the package of the system is installed if no browser is found and the
 * user is root. Otherwise the error says what to install, because a missing browser must not skip a test.
 */
export function findChromium(): string {
  const given = processVariables['CHROMIUM_PATH'];
  if (given !== undefined && given !== '') {
    if (isProgram(given)) return given;
    throw new Error(
      `CHROMIUM_PATH is ${given}, which is not a program: it must be the path of Chromium or Chrome.`,
    );
  }
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) installWhereMissing();
  const folders = (processVariables['PATH'] ?? '').split(delimiter);
  const candidates = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = [...candidates, ...FIXED_PATHS].find(isProgram);
  if (found !== undefined) return found;
  throw new Error(
    'There is no Chromium on this machine: install chromium or google-chrome, or set CHROMIUM_PATH.',
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Several test files may start at once. Each waits until the installation of another is complete, because the
 * program is on the disk before the libraries that it needs.
 */
function installWhereMissing(): void {
  const isThere = NAMES.map((name) => `command -v ${name}`).join(' || ');
  const install = [
    'echo "Installing Chromium from the packages of the system, once …" >&2',
    'apt-get -qq update',
    'apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends chromium >&2',
  ].join(' && ');
  spawnSync(
    'flock',
    // This file is the lock: the folder for temporary files is not the same in every test.
    [import.meta.filename, 'sh', '-c', `${isThere} || { ${install}; }`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...processVariables, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: INSTALL_TIMEOUT_MS,
    },
  );
}

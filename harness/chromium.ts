import { existsSync } from 'node:fs';
import { processVariables } from '../src/config.ts';
import { findProgram } from './needs.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FIXED_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Finds the browser of this machine; undefined if no browser is installed. CHROMIUM_PATH names another one. */
export function findChromium(): string | undefined {
  const given = processVariables['CHROMIUM_PATH'];
  if (given !== undefined && given !== '') return given;
  const found = NAMES.map(findProgram).find((file) => file !== undefined);
  return found ?? FIXED_PATHS.find((file) => existsSync(file));
}

/** The value for the `skip` option of a test: the reason with the command that installs a browser, or false. */
export const NEEDS_CHROMIUM =
  findChromium() === undefined && `needs chromium: ${installCommand()}, or set CHROMIUM_PATH`;

function installCommand(): string {
  if (process.platform === 'darwin') return 'brew install --cask chromium';
  return findProgram('dnf') === undefined
    ? 'sudo apt-get install chromium'
    : 'sudo dnf install chromium';
}

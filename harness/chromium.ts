import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { LaunchOptions } from 'playwright-core';
import { processVariables } from '../src/config.ts';
import { findProgram, needs } from './needs.ts';
import { installTools, toolsFolder } from './tools.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const FIXED_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** A package of its own, because npm knows no optional packages for development. It is for Linux on x64 only. */
const PACKAGE = join(import.meta.dirname, 'browser');
const UNPACKED = join(toolsFolder(PACKAGE), 'unpacked');
/** The browser, and the libraries and fonts that it needs beyond those of every Linux. */
const ARCHIVES = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'];
const FONTS_FILE = join(UNPACKED, 'fonts.conf');
/** The file of the package names other folders. Without any font, the browser ends. */
const FONTS = `<?xml version="1.0"?>
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${join(UNPACKED, 'fonts')}</dir>
  <cachedir>${join(UNPACKED, 'fonts-cache')}</cachedir>
</fontconfig>
`;
const UNPACK = `import { inflate } from '@sparticuz/chromium';
for (const name of ${JSON.stringify(ARCHIVES)}) await inflate('node_modules/@sparticuz/chromium/bin/' + name);`;

/** How to start the browser of this machine or, if it has none, the one that npm installed; undefined without both. */
export function findChromium(): LaunchOptions | undefined {
  const executablePath = findInstalled();
  if (executablePath !== undefined) {
    return { executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] };
  }
  const file = join(UNPACKED, 'chromium');
  if (!existsSync(file)) return undefined;
  const env = {
    ...processVariables,
    LD_LIBRARY_PATH: join(UNPACKED, 'al2023', 'lib'),
    FONTCONFIG_FILE: FONTS_FILE,
  };
  // Its sandbox needs a helper that belongs to root, and it loads only the pages of this machine.
  return { executablePath: file, env, args: ['--no-sandbox'] };
}

/** CHROMIUM_PATH names another browser than the one that is installed. */
function findInstalled(): string | undefined {
  const given = processVariables['CHROMIUM_PATH'];
  if (given !== undefined && given !== '') return given;
  const found = NAMES.map(findProgram).find((file) => file !== undefined);
  return found ?? FIXED_PATHS.find((file) => existsSync(file));
}

/** Fetches the browser of npm where no other is installed. Returns why that failed; then tests of pages are skipped. */
export async function installChromium(): Promise<string | undefined> {
  if (findInstalled() !== undefined || process.platform !== 'linux' || process.arch !== 'x64') {
    return undefined;
  }
  if (!existsSync(UNPACKED)) process.stderr.write('Installing a browser for the tests, once …\n');
  try {
    const reason = await installTools(PACKAGE);
    if (reason !== false) return reason;
    if (!existsSync(UNPACKED)) await unpack();
    return undefined;
  } catch (error) {
    return String(error);
  }
}

async function unpack(): Promise<void> {
  const fresh = `${UNPACKED}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  // The package unpacks into the temporary folder.
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
    cwd: toolsFolder(PACKAGE),
    env: { ...processVariables, TMPDIR: fresh },
  });
  await writeFile(join(fresh, basename(FONTS_FILE)), FONTS);
  await rename(fresh, UNPACKED);
}

/** The value for the `skip` option of a test: the reason with the command that installs a browser, or false. */
export const NEEDS_CHROMIUM = needs(
  `chromium: ${installCommand()}, or set CHROMIUM_PATH`,
  findChromium() !== undefined,
);

function installCommand(): string {
  if (process.platform === 'darwin') return 'brew install --cask chromium';
  return findProgram('dnf') === undefined
    ? 'sudo apt-get install chromium'
    : 'sudo dnf install chromium';
}

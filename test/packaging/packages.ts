import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

export const REPOSITORY = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
const isWindows = process.platform === 'win32';

/** Makes the npm package of the service in a folder, and returns its file. */
export async function packService(folder: string): Promise<string> {
  const args = ['pack', '--silent', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { cwd: REPOSITORY, shell: isWindows });
  return join(folder, stdout.trim());
}

export interface Installed {
  /** The folder of the package. */
  installed: string;
  /** The `petstore` command. */
  program: string;
  /** What npm has printed. */
  output: string;
}

/** Installs a package as `npm install -g` does, but below a folder. */
export async function installPackage(
  folder: string,
  file: string,
  flags: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Installed> {
  const prefix = join(folder, 'prefix');
  const args = ['install', '--global', '--prefix', prefix, ...flags, file];
  const { stdout, stderr } = await run('npm', args, { cwd: folder, env, shell: isWindows });
  return {
    installed: join(prefix, isWindows ? '' : 'lib', 'node_modules', 'petstore-service'),
    program: isWindows ? join(prefix, 'petstore.cmd') : join(prefix, 'bin', 'petstore'),
    output: stdout + stderr,
  };
}

/** A Node.js of this machine that is too old to run the program itself. */
export function olderNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, isWindows ? 'node.exe' : 'node'))
    .filter((node) => existsSync(node))
    .find((node) => {
      const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
      return /^v2[0-5]\./.test(stdout);
    });
}

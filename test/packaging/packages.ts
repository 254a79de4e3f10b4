import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { main as check } from '../../check/main.ts';
import { run, type RunOptions } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

export const REPOSITORY = dirname(dirname(import.meta.dirname));
export const execute = promisify(execFile);

/** Makes the npm package of the service in a folder, and returns its file. */
export async function packService(folder: string): Promise<string> {
  const args = ['pack', '--silent', '--pack-destination', folder];
  const { stdout } = await execute('npm', args, { cwd: REPOSITORY });
  return join(folder, stdout.trim());
}

/** Installs a package as `npm install -g` does, but below a folder. */
export async function installPackage(
  folder: string,
  file: string,
  flags: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const prefix = join(folder, 'prefix');
  const args = ['install', '--global', '--prefix', prefix, ...flags, file];
  const { stdout, stderr } = await execute('npm', args, { cwd: folder, env });
  return {
    installed: join(prefix, 'lib/node_modules/petstore-service'),
    program: join(prefix, 'bin/petstore'),
    output: stdout + stderr,
  };
}

/** A Node.js of this machine that is too old to run the program itself. */
export function olderNode(): string | undefined {
  const programs = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, 'node'));
  return programs.find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    return /^v2[0-5]\./.test(stdout);
  });
}

/**
 * Uses a program as somebody would who has just installed it: starts the service in an empty folder, and lets the key that
 * it prints check every clause, all pages, and the commands.
 */
export async function useInstalled(t: TestContext, flags: readonly string[], options: RunOptions) {
  const inFolder = { cwd: temporaryFolder(t), ...options };
  const service = await serve(t, flags, inFolder);
  const { baseUrl, key } = service;
  let report = '';
  const code = await check([baseUrl, '--write'], {
    env: { PETSTORE_API_KEY: key },
    stdout: { write: (text) => (report += text) },
    stderr: process.stderr,
  });
  assert.match(report, /^\d+ kept, 0 broken, /m, report);
  assert.equal(code, 0);
  await visitPages(baseUrl);
  const health = await run(['health', '--port', String(service.port)], inFolder);
  assert.deepEqual(health, { code: 0, stdout: 'ready\n', stderr: '' });
  const exported = await run(['export'], inFolder);
  assert.match(exported.stdout, /^\{"id":1,/, exported.stderr);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0, service.stderr());
}

/** Fetches the console, the documents and everything that they refer to. */
async function visitPages(baseUrl: string): Promise<void> {
  const { origin } = new URL(baseUrl);
  const found = new Set([`${origin}/`, `${origin}/docs`]);
  for (const address of found) {
    const response = await fetch(address);
    assert.equal(response.status, 200, address);
    const text = await response.text();
    for (const [, target = ''] of text.matchAll(/\b(?:from |href=|src=)['"]([^'"#]+)/g)) {
      const { origin: its, pathname } = new URL(target, address);
      if (its === origin && !pathname.startsWith('/v1')) found.add(origin + pathname);
    }
  }
  assert.ok(found.size > 10, 'few pages were found');
}

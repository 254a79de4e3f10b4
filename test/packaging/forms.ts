// Installs the service in every form, as a stranger would, and measures size and start time: npm run
// test:packages. It needs the npm registry, which has Node.js 26, and about 2 GB of disk.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { needs, OLDER_NODE } from '../../harness/needs.ts';
import { makeSingleFile } from '../../scripts/single-file.ts';
import { execute, installPackage, olderNode, packService, useInstalled } from './packages.ts';
import { refusalIn, run, type RunOptions } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const STARTS = 8;
const NOBODY = 65_534;
const hashOf = (path: string) => hash('sha256', readFileSync(path));

const folder = temporaryFolder();
const place = join(folder, 'elsewhere');
const single = join(place, 'petstore');
const SINGLE: RunOptions = { command: [single], env: { PATH: '/nonexistent' } };
let file = '';
before(async () => {
  file = await packService(folder);
  // Moved, and read-only.
  const made = join(folder, 'petstore-made');
  await makeSingleFile(made);
  mkdirSync(place);
  copyFileSync(made, single);
  chmodSync(single, 0o555);
  chmodSync(place, 0o555);
});

/** Its size, and the shortest of several times from the start of the process to the line that says it is ready. */
async function measure(t: TestContext, form: string, path: string, options: RunOptions = {}) {
  const times: number[] = [];
  // The first start also writes the compiled code.
  for (let count = 0; count <= STARTS; count += 1) {
    const startedMs = performance.now();
    const service = await serve(t, [], { cwd: temporaryFolder(t), ...options });
    times.push(performance.now() - startedMs);
    service.signal('SIGTERM');
    assert.equal(await service.ended, 0);
  }
  const { stdout: size } = await execute('du', ['-sm', path]);
  const ms = Math.min(...times.slice(1)).toFixed(0);
  t.diagnostic(`${form}: ${Number.parseInt(size)} MiB, ready after ${ms} ms`);
}

const NODES = {
  'the older Node.js of this machine': olderNode(),
  'Node.js 26': process.execPath,
};

for (const [which, node] of Object.entries(NODES)) {
  const skip = needs(OLDER_NODE, node !== undefined);
  const path = [dirname(node ?? ''), '/usr/bin', '/bin'].join(delimiter);
  const env = { ...process.env, PATH: path };

  test(
    `the npm package on ${which}: npm install -g FILE, then serve and check`,
    { skip },
    async (t) => {
      const { installed, program, output } = await installPackage(
        temporaryFolder(t),
        file,
        [],
        env,
      );
      assert.doesNotMatch(output, /EBADENGINE/);
      const options: RunOptions = { command: [program], env: { PATH: path } };
      await useInstalled(t, ['--workers', '2'], options);
      await measure(t, which, installed, options);
    },
  );

  test(
    `the npm package on ${which}: npx --package=FILE petstore, in an empty folder`,
    { skip },
    async (t) => {
      const args = ['--yes', `--package=${file}`, 'petstore', 'keys', 'create'];
      const options = { cwd: temporaryFolder(t), env };
      const { stdout } = await execute('npx', [...args, '--name', 'a', '--create'], options);
      assert.match(stdout, /^pet_live_\w{36}\n$/);
    },
  );
}

test('the same sources give the same npm package and the same single file', async (t) => {
  assert.equal(hashOf(await packService(temporaryFolder(t))), hashOf(file));
  const again = join(temporaryFolder(t), 'petstore');
  await makeSingleFile(again);
  assert.equal(hashOf(again), hashOf(single));
});

test('a clone starts', (t) => measure(t, 'clone', join(import.meta.dirname, '../../src')));

test('the single file serves and keeps the specification, moved, read-only and without Node.js', async (t) => {
  await useInstalled(t, [], SINGLE);
  await useInstalled(t, ['--workers', '2'], SINGLE);
  await measure(t, 'single file', single, SINGLE);
});

test('the single file in a folder without rights: one line, exit code 2', async (t) => {
  const cwd = temporaryFolder(t);
  chmodSync(cwd, 0o555);
  const copy = join(temporaryFolder(t), 'petstore');
  copyFileSync(single, copy);
  chmodSync(dirname(copy), 0o755);
  const { code, stderr } = await run(['serve'], {
    ...SINGLE,
    command: ['/usr/bin/setpriv', `--reuid=${NOBODY}`, '--clear-groups', copy],
    cwd,
  });
  assert.match(refusalIn(stderr), /^petstore: [^\n]*EACCES[^\n]*\n$/);
  assert.equal(code, 2);
});

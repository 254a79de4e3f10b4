// Installs the service in every form, as a stranger would, and measures size and start time: npm run
// test:packages. It needs the npm registry, which has Node.js 26, and about 2 GB of disk.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { needs, OLDER_NODE } from '../../harness/needs.ts';
import { makeSingleFile } from '../../scripts/single-file.ts';
import { useInstalled } from './installed-program.ts';
import { installPackage, olderNode, packService } from './packages.ts';
import { refusalIn, run, type RunOptions } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const STARTS = 8;
const MIB = 1024 * 1024;
const NOBODY = 65_534;
const execute = promisify(execFile);
const hashOf = (path: string) => hash('sha256', readFileSync(path));

const folder = mkdtempSync(join(tmpdir(), 'petstore-packages-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let file = '';
before(async () => {
  file = await packService(folder);
});

/**
 * The time from the start of the process to the line that says it is ready, in milliseconds: the shortest of
 * several, because other work on the machine only adds to it.
 */
async function startTimeMs(t: TestContext, options: RunOptions): Promise<number> {
  const times: number[] = [];
  // The first start also writes the compiled code, and is not counted.
  for (let count = 0; count <= STARTS; count += 1) {
    const startedMs = performance.now();
    const service = await serve(t, [], { cwd: temporaryFolder(t), ...options });
    if (count > 0) times.push(performance.now() - startedMs);
    service.signal('SIGTERM');
    assert.equal(await service.ended, 0);
  }
  return Math.min(...times);
}

/** The bytes of all files of a folder, or of one file. */
function sizeMib(path: string): number {
  const files = lstatSync(path).isDirectory() ? globSync('**/*', { cwd: path }) : [''];
  const bytes = files.map((each) => lstatSync(join(path, each))).filter((each) => each.isFile());
  return bytes.reduce((sum, { size }) => sum + size, 0) / MIB;
}

async function report(t: TestContext, form: string, path: string, options: RunOptions) {
  const startMs = await startTimeMs(t, options);
  t.diagnostic(`${form}: ${sizeMib(path).toFixed(0)} MiB, ready after ${startMs.toFixed(0)} ms`);
}

const older = olderNode();
const NODES = { 'the older Node.js of this machine': older, 'Node.js 26': process.execPath };

for (const [which, node] of Object.entries(NODES)) {
  const skip = needs(OLDER_NODE, node !== undefined);
  describe(`The npm package on ${which}`, { skip }, () => {
    const place = join(folder, which.replaceAll(' ', '-'));
    const env = {
      ...process.env,
      PATH: `${dirname(node ?? '')}${delimiter}/usr/bin${delimiter}/bin`,
    };
    const options = (program: string): RunOptions => ({
      command: [program],
      env: { PATH: env.PATH },
    });

    test('npm install -g FILE, then serve, create, list, check', async (t) => {
      mkdirSync(place);
      const { installed, program, output } = await installPackage(place, file, [], env);
      assert.doesNotMatch(output, /EBADENGINE/);
      for (const manifest of globSync('**/package.json', { cwd: installed })) {
        const { scripts = {} } = JSON.parse(readFileSync(join(installed, manifest), 'utf8')) as {
          scripts?: object;
        };
        assert.ok(
          !['preinstall', 'install', 'postinstall'].some((name) => name in scripts),
          `${manifest} has an install script`,
        );
      }
      await useInstalled(t, [], options(program));
      await useInstalled(t, ['--workers', '2'], options(program));
      await report(t, which, installed, options(program));
    });

    test('npx --package=FILE petstore, in an empty folder', async (t) => {
      const args = [
        '--yes',
        `--package=${file}`,
        'petstore',
        'keys',
        'create',
        '--name',
        'a',
        '--create',
      ];
      const { stdout } = await execute('npx', args, { cwd: temporaryFolder(t), env });
      assert.match(stdout, /^pet_live_\w{36}\n$/);
    });
  });
}

test('a second npm package has the same bytes', async (t) => {
  assert.equal(hashOf(await packService(temporaryFolder(t))), hashOf(file));
});

test('A clone', async (t) => {
  const startMs = await startTimeMs(t, {});
  t.diagnostic(`clone: ready after ${startMs.toFixed(0)} ms`);
});

describe('The single file', () => {
  const place = join(folder, 'elsewhere');
  const program = join(place, 'petstore');
  const options: RunOptions = { command: [program], env: { PATH: '/nonexistent' } };

  before(async () => {
    const made = join(folder, 'petstore-made');
    await makeSingleFile(made);
    mkdirSync(place);
    renameSync(made, program);
    chmodSync(program, 0o555);
    chmodSync(place, 0o555);
  });

  test('serves, creates, lists and checks, moved, read-only and without Node.js', async (t) => {
    await useInstalled(t, [], options);
    await useInstalled(t, ['--workers', '2'], options);
    await report(t, 'single file', program, options);
  });

  test('a second build has the same bytes', async (t) => {
    const again = join(temporaryFolder(t), 'petstore');
    await makeSingleFile(again);
    assert.equal(hashOf(again), hashOf(program));
  });

  test('in a folder without rights: one line, exit code 2', async (t) => {
    const closed = temporaryFolder(t);
    chmodSync(closed, 0o555);
    const copy = join(temporaryFolder(t), 'petstore');
    copyFileSync(program, copy);
    chmodSync(dirname(copy), 0o755);
    const { code, stderr } = await run(['serve'], {
      ...options,
      command: ['/usr/bin/setpriv', `--reuid=${NOBODY}`, '--clear-groups', copy],
      cwd: closed,
    });
    assert.match(refusalIn(stderr), /^petstore: [^\n]*EACCES[^\n]*\n$/);
    assert.equal(code, 2);
  });
});

// The npm package, made and installed without a registry. `npm run test:packages` also gets Node.js from the
// registry, runs on Node.js 20, and makes the single file.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { needs, OLDER_NODE } from '../../harness/needs.ts';
import { useInstalled } from './installed-program.ts';
import { installPackage, olderNode, packService, REPOSITORY } from './packages.ts';
import { run } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

interface Manifest {
  name?: string;
  version: string;
  scripts?: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  bundleDependencies: string[];
}

const readManifest = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Manifest;

describe('The npm package', () => {
  let installed = '';
  let program = '';
  let output = '';
  const folder = temporaryFolder();

  before(async () => {
    const file = await packService(folder);
    // Every package that is not inside the file would have to come from here.
    const withoutRegistry = ['--offline', '--cache', join(folder, 'empty'), '--omit=optional'];
    ({ installed, program, output } = await installPackage(folder, file, withoutRegistry));
  });

  test('installs without a warning, and brings every dependency but Node.js', () => {
    assert.doesNotMatch(output, /EBADENGINE|npm (?:warn|error) (?!Unknown (?:user|env) config)/);
    const manifest = readManifest(join(installed, 'package.json'));
    assert.deepEqual(manifest.bundleDependencies, Object.keys(manifest.dependencies));
    for (const name of Object.keys(manifest.optionalDependencies)) assert.match(name, /^node-/);
  });

  test('nothing in it has an install script, and it has no telemetry', () => {
    const manifests = globSync('**/package.json', { cwd: installed });
    assert.ok(manifests.length > 10);
    for (const file of manifests) {
      const { name = '', scripts = {} } = readManifest(join(installed, file));
      const hooks = ['preinstall', 'install', 'postinstall'].filter((each) => each in scripts);
      assert.deepEqual(hooks, [], name);
      assert.doesNotMatch(name, /scarf/);
      assert.equal(existsSync(join(installed, dirname(file), 'binding.gyp')), false, name);
    }
  });

  test('holds JavaScript with source maps and documents, and no sources, tests or benches', () => {
    const files = globSync('**/*.*', { cwd: installed, exclude: ['node_modules'] });
    assert.deepEqual(
      files.filter((file) => /\.ts$|test|bench(?!marks\.)|drills|scripts/.test(file)),
      [],
    );
    for (const file of files.filter((each) => /^build\/.*(?<!\.browser)\.js$/.test(each))) {
      assert.ok(files.includes(`${file}.map`), `${file} has no source map`);
    }
    const readme = readFileSync(join(installed, 'README.md'), 'utf8');
    for (const [, target = ''] of readme.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)) {
      assert.ok(existsSync(join(installed, target)), `README.md links to ${target}`);
    }
  });

  test('serves, creates, lists and keeps the specification, with workers', async (t) => {
    await useInstalled(t, ['--workers', '2'], { command: [process.execPath, program] });
  });

  const node = olderNode() ?? '';
  const skip = needs(OLDER_NODE, node !== '');
  test('an older Node.js starts the one that npm installed', { skip }, async () => {
    const [name = ''] = globSync('node-*', { cwd: join(REPOSITORY, 'node_modules') });
    const modules = join(installed, 'node_modules');
    const refused = await run(['--version'], { command: [node, program] });
    assert.match(
      refused.stderr,
      /^petstore: Node\.js \S+ is too old; 26 or later .*--omit=optional/,
    );
    assert.equal(refused.code, 2);
    symlinkSync(join(REPOSITORY, 'node_modules', name), join(modules, name), 'junction');
    const { code, stdout } = await run(['--version'], { command: [node, program] });
    assert.match(stdout, new RegExp(readManifest(join(installed, 'package.json')).version));
    assert.equal(code, 0);
  });
});

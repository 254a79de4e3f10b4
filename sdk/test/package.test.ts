import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { Gateway } from './gateway.ts';

const SDK = dirname(import.meta.dirname);
const REPOSITORY = dirname(SDK);
const SERVED_BYTES_MAX = 9 * 1024;
const MODULES = ['client', 'error', 'index', 'json', 'link', 'request'];
const run = promisify(execFile);

const USE =
  'const pet: Pet = { id: 1n, name: "Rex", categoryId: 7n, status: "available" };\n' +
  'console.log(Object.keys(client).toSorted().join(), pet.id);\n';
const SCRIPTS = {
  'import.mts': `import * as client from 'petstore-client';\nimport type { Pet } from 'petstore-client';\n${USE}`,
  'require.cts': `import client = require('petstore-client');\ntype Pet = client.Pet;\n${USE}`,
};

test('a browser gets the library in a few small files that need nothing else', async (t) => {
  const files = ['index.ts'];
  let bytes = 0;
  for (const file of files) {
    const source = stripTypeScriptTypes(await readFile(join(SDK, 'src', file), 'utf8'));
    bytes += gzipSync(source).length;
    for (const [, path = ''] of source.matchAll(/^(?:import|export) .*?from '([^']+)'/gms)) {
      assert.match(path, /^\.\/[a-z]+\.ts$/, `${file} imports ${path}`);
      const name = path.slice(2);
      if (!files.includes(name)) files.push(name);
    }
  }
  assert.deepEqual(
    files.toSorted(),
    MODULES.map((name) => `${name}.ts`),
  );
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= SERVED_BYTES_MAX, `The library has ${bytes} compressed bytes.`);
});

/** Where the package is installed, by the first of the tests below. */
const app = join(temporaryFolder(), 'app');
/** The examples of the README, by the file that each becomes. */
const README = readFileSync(join(SDK, 'README.md'), 'utf8');
const EXAMPLES = [...README.matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, code = ''], index) => [`example-${index + 1}.ts`, code] as const,
);

// test/project/contrib.unit.test.ts has that a clone that was only started installs what the build needs.
test('the commands of the quick start build and install the package', async () => {
  const clone = join(dirname(app), 'petstore');
  // A copy, so that the repository never holds a build that other checks would stumble over.
  for (const name of ['sdk', 'scripts', 'tsconfig.json', 'package.json', 'package-lock.json']) {
    await cp(join(REPOSITORY, name), join(clone, name), { recursive: true });
  }
  await symlink(join(REPOSITORY, 'node_modules'), join(clone, 'node_modules'));
  await mkdir(app);
  await writeFile(join(app, 'package.json'), '{ "type": "module", "private": true }');
  const page = join(REPOSITORY, 'src/web/docs/content/quick-start.md');
  const [, block = ''] = /```sh\n(npm pack .*?)```/s.exec(await readFile(page, 'utf8')) ?? [];
  await run('sh', ['-euc', block], { cwd: app });
});

test('scripts and the examples of the README compile against its types', async () => {
  for (const [file, code] of [...Object.entries(SCRIPTS), ...EXAMPLES]) {
    await writeFile(join(app, file), code);
  }
  const typeRoots = [join(REPOSITORY, 'node_modules/@types')];
  const options = {
    module: 'nodenext',
    target: 'esnext',
    strict: true,
    types: ['node'],
    typeRoots,
  };
  const tsconfig = { compilerOptions: options, include: ['*.*ts'] };
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify(tsconfig));
  const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [tsc, '-p', app], { cwd: app });
});

test('the package holds JavaScript and declarations, and neither sources nor tests', async () => {
  const installed = join(app, 'node_modules', 'petstore-client');
  const held = async (folder: string) => (await readdir(join(installed, folder))).toSorted();
  assert.deepEqual(await held('.'), ['LICENSE', 'README.md', 'dist', 'package.json']);
  const files = [...MODULES, 'types'].flatMap((name) => [
    `${name}.d.ts`,
    `${name}.js`,
    `${name}.js.map`,
  ]);
  assert.deepEqual(await held('dist/esm'), files);
  assert.deepEqual(await held('dist/cjs'), [...files, 'package.json'].toSorted());
});

test('the package gives the same names to import and to require(), in JavaScript and in types', async () => {
  for (const file of ['import.mjs', 'require.cjs']) {
    const { stdout } = await run(process.execPath, [file], { cwd: app });
    assert.equal(stdout, 'PET_STATUSES,PetStore,PetStoreError,stringify 1n\n', file);
  }
});

test('every example of the README runs, as the compiler and the service see it', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const gateway = await Gateway.open(t, service);
  const { pets } = gateway.client();
  for (let count = 0; count < 25; count += 1) await pets.create({ name: 'Rex', categoryId: 7 });
  assert.equal(EXAMPLES.length, 6);
  const env = { PETSTORE_BASE_URL: `${gateway.origin}/v1`, PETSTORE_API_KEY: gateway.key };
  for (const [file, code] of EXAMPLES) {
    const here = code.replace('http://127.0.0.1:8080/v1', env.PETSTORE_BASE_URL);
    await writeFile(join(app, file), here);
    gateway.requests.length = 0;
    await run(process.execPath, [file], { cwd: app, env });
    assert.ok(gateway.requests.length > 0, `${file} sent nothing`);
  }
  assert.equal((await pets.list().toArray()).length, 25 + 4);
});

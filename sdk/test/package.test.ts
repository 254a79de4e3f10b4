import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { openTestServer } from './server.ts';

const SDK = dirname(import.meta.dirname);
const REPOSITORY = dirname(SDK);
const SERVED_BYTES_MAX = 9 * 1024;
const run = promisify(execFile);

const USE =
  'const pet: Pet = { id: 1n, name: "Rex", categoryId: 7n, status: "available" };\n' +
  'console.log(Object.keys(client).toSorted().join(), pet.id);\n';
const IMPORT = "import * as client from 'petstore-client';\n";
const SCRIPTS = {
  'import.mts': `${IMPORT}import type { Pet } from 'petstore-client';\n${USE}`,
  'require.cts': `import client = require('petstore-client');\ntype Pet = client.Pet;\n${USE}`,
};
const exampleFile = (index: number) => `example-${index + 1}.ts`;

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
  assert.deepEqual(files.toSorted(), [
    'client.ts',
    'error.ts',
    'index.ts',
    'json.ts',
    'link.ts',
    'request.ts',
  ]);
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= SERVED_BYTES_MAX, `The library has ${bytes} compressed bytes.`);
});

test('the commands of the quick start build and install it beside a clone that was only started', async (t) => {
  const folder = temporaryFolder(t);
  const [clone, app] = [join(folder, 'petstore'), join(folder, 'app')];
  await run('git', ['clone', '--quiet', '--no-hardlinks', REPOSITORY, clone]);
  // A change that is not committed counts too.
  await cp(SDK, join(clone, 'sdk'), { recursive: true });
  // What `npm start` does first.
  await run('node', ['scripts/setup.js', 'runtime'], { cwd: clone });
  assert.deepEqual(await readdir(join(clone, 'node_modules', 'typescript')).catch(() => []), []);
  await mkdir(app);
  await writeFile(join(app, 'package.json'), '{ "type": "module", "private": true }');
  const page = join(REPOSITORY, 'src/web/docs/content/quick-start.md');
  const [, block = ''] = /```sh\n(npm pack .*?)```/s.exec(await readFile(page, 'utf8')) ?? [];
  await run('sh', ['-euc', block], { cwd: app });
  await writeFile(join(app, 'use.js'), IMPORT + USE.replace(': Pet', ''));
  const { stdout } = await run(process.execPath, ['use.js'], { cwd: app });
  assert.match(stdout, /PetStore,/);
});

describe('The packed package', () => {
  let folder = '';
  let app = '';
  let examples: string[] = [];

  // A copy is packed, so that the repository never holds a build that other checks would stumble over.
  before(async () => {
    folder = temporaryFolder();
    app = join(folder, 'app');
    await cp(SDK, join(folder, 'sdk'), { recursive: true });
    for (const file of ['tsconfig.json', 'package.json', 'package-lock.json']) {
      await cp(join(REPOSITORY, file), join(folder, file));
    }
    await cp(join(REPOSITORY, 'scripts'), join(folder, 'scripts'), { recursive: true });
    await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'), 'junction');
    await npm(join(folder, 'sdk'), 'pack', '--pack-destination', folder);

    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{ "type": "module", "private": true }');
    await npm(app, 'install', '--offline', join(folder, 'petstore-client-1.0.0.tgz'));
    const readme = await readFile(join(SDK, 'README.md'), 'utf8');
    examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    const written = {
      ...SCRIPTS,
      ...Object.fromEntries(examples.map((code, index) => [exampleFile(index), code])),
    };
    for (const [file, code] of Object.entries(written)) await writeFile(join(app, file), code);
    await compile(app);
  });

  test('holds JavaScript and declarations, and neither sources nor tests', async () => {
    const installed = join(app, 'node_modules', 'petstore-client');
    const modules = ['client', 'error', 'index', 'json', 'link', 'request', 'types'];
    assert.deepEqual((await readdir(installed)).toSorted(), [
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
    ]);
    const files = modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`, `${name}.js.map`]);
    const held = async (form: string) => (await readdir(join(installed, 'dist', form))).toSorted();
    assert.deepEqual(await held('esm'), files);
    assert.deepEqual(await held('cjs'), [...files, 'package.json'].toSorted());
  });

  test('gives the same names to import and to require(), in JavaScript and in types', async () => {
    for (const file of ['import.mjs', 'require.cjs']) {
      const { stdout } = await run(process.execPath, [file], { cwd: app });
      assert.equal(stdout, 'PET_STATUSES,PetStore,PetStoreError,stringify 1n\n', file);
    }
  });

  test('runs every example of its README, as the compiler and the service see it', async (context) => {
    const server = await openTestServer();
    context.after(() => server.close());
    for (; server.nextId <= 25n; server.nextId += 1n) {
      server.pets.push({ id: server.nextId, name: 'Rex', categoryId: 7n, status: 'available' });
    }
    assert.equal(examples.length, 6);
    for (const [index, code] of examples.entries()) {
      const file = exampleFile(index);
      await writeFile(join(app, file), code.replace('http://127.0.0.1:8080/v1', server.baseUrl));
      const requests = server.requests.length;
      const env = { PETSTORE_BASE_URL: server.baseUrl, PETSTORE_API_KEY: server.apiKey };
      await run(process.execPath, [file], { cwd: app, env });
      assert.ok(server.requests.length > requests, `${file} sent nothing`);
    }
    assert.equal(server.pets.length, 25 + 4);
  });
});

/** Compiles every TypeScript file of a folder, as a user of the package would. */
async function compile(folder: string): Promise<void> {
  const options = { module: 'nodenext', target: 'esnext', strict: true, types: ['node'] };
  const tsconfig = { compilerOptions: options, include: ['*.*ts'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [tsc, '-p', folder], { cwd: folder });
}

async function npm(cwd: string, ...words: string[]): Promise<void> {
  await run('npm', words, { cwd, shell: process.platform === 'win32' });
}

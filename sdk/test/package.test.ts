import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { toJavaScript } from '../../src/console/assets.ts';
import { openTestServer } from './server.ts';

const SDK = dirname(import.meta.dirname);
const REPOSITORY = dirname(SDK);
const SERVED_BYTES_MAX = 12.5 * 1024;
const run = promisify(execFile);

test('a browser gets the library in a few small files that need nothing else', async () => {
  const files = ['index.ts'];
  let bytes = 0;
  for (const file of files) {
    const source = toJavaScript(await readFile(join(SDK, 'src', file), 'utf8'));
    bytes += Buffer.byteLength(source);
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
  assert.ok(bytes <= SERVED_BYTES_MAX, `The library has ${bytes} bytes.`);
});

describe('The packed package', () => {
  let folder = '';
  let app = '';

  // A copy is packed, so that the repository never holds a build that other checks would stumble over.
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'petstore-client-'));
    app = join(folder, 'app');
    await cp(SDK, join(folder, 'sdk'), { recursive: true });
    await cp(join(REPOSITORY, 'tsconfig.json'), join(folder, 'tsconfig.json'));
    await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'), 'junction');
    await npm(join(folder, 'sdk'), 'pack', '--pack-destination', folder);

    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{ "type": "module", "private": true }');
    await npm(app, 'install', '--offline', join(folder, 'petstore-client-1.0.0.tgz'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('holds JavaScript and declarations, and neither sources nor tests', async () => {
    const installed = join(app, 'node_modules', 'petstore-client');
    const modules = ['client', 'error', 'index', 'json', 'link', 'request', 'types'];
    assert.deepEqual((await readdir(installed)).toSorted(), [
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
    ]);
    assert.deepEqual(
      (await readdir(join(installed, 'dist'))).toSorted(),
      modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]),
    );
  });

  test('runs every example of its README, as the compiler and the service see it', async (context) => {
    const server = await openTestServer();
    context.after(() => server.close());
    for (; server.nextId <= 25n; server.nextId += 1n) {
      server.pets.push({ id: server.nextId, name: 'Rex', categoryId: 7n, status: 'available' });
    }
    const readme = await readFile(join(SDK, 'README.md'), 'utf8');
    const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) =>
      code.replace('http://127.0.0.1:8080/v1', server.baseUrl),
    );
    assert.equal(examples.length, 6);
    const files = examples.map((_, index) => `example-${index + 1}.ts`);
    await Promise.all(
      files.map((file, index) => writeFile(join(app, file), examples[index] ?? '')),
    );

    const options = {
      module: 'nodenext',
      target: 'esnext',
      strict: true,
      noEmit: true,
      types: ['node'],
    };
    const tsconfig = { compilerOptions: options, include: ['*.ts'] };
    await writeFile(join(app, 'tsconfig.json'), JSON.stringify(tsconfig));
    const tsc = join(REPOSITORY, 'node_modules', 'typescript', 'bin', 'tsc');
    await run(process.execPath, [tsc, '-p', app], { cwd: app });

    for (const file of files) {
      const requests = server.requests.length;
      const env = { PETSTORE_API_KEY: server.apiKey };
      await run(process.execPath, [file], { cwd: app, env });
      assert.ok(server.requests.length > requests, `${file} sent nothing`);
    }
    assert.equal(server.pets.length, 25 + 4);
  });
});

async function npm(cwd: string, ...words: string[]): Promise<void> {
  await run('npm', words, { cwd, shell: process.platform === 'win32' });
}

// Checks the OpenAPI document with the tools that its readers use, and runs the examples of
// docs/generated-clients.md. `npm run test:generators` runs this file. The tools need TypeScript 5, so they
// have their own lock file.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { send, sqliteStorage, startTestService, type TestService } from '../test-service.ts';
import { installTools, toolsFolder } from '../tools.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TOOLS = toolsFolder(import.meta.dirname);
const BASE_URL = 'http://127.0.0.1:8080/v1';
const DOCUMENTS = ['openapi.json', 'served.json'];
const run = promisify(execFile);

let service: TestService;
before(async () => {
  await installTools(import.meta.dirname);
  service = await startTestService(sqliteStorage);
  const served = await send(service.baseUrl.replace('/v1', '/openapi.json'));
  await writeFile(join(TOOLS, 'served.json'), served.text);
  await cp(join(ROOT, 'openapi.json'), join(TOOLS, 'openapi.json'));
});
after(() => service.close());

/** Runs the command of an installed package, and returns what it prints. */
async function tool(script: string, ...words: string[]): Promise<string> {
  const env = {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    NO_COLOR: '1',
  };
  const { stdout, stderr } = await run(
    process.execPath,
    [join(TOOLS, 'node_modules', script), ...words],
    { cwd: TOOLS, env },
  );
  return stdout + stderr;
}

for (const document of DOCUMENTS) {
  test(`${document}: Redocly reports nothing`, async () => {
    const strict = '--extends=recommended-strict';
    const report = await tool('@redocly/cli/bin/cli.js', 'lint', document, strict);
    assert.doesNotMatch(report, /warning|error/i);
  });

  test(`${document}: Spectral reports nothing`, async () => {
    await writeFile(join(TOOLS, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
    await tool('@stoplight/spectral-cli/dist/index.js', 'lint', document, '--fail-severity=hint');
  });

  test(`${document}: swagger-parser reports nothing`, async () => {
    const validate = `import parser from '@apidevtools/swagger-parser'; await parser.validate('${document}');`;
    await run(process.execPath, ['--input-type=module', '--eval', validate], { cwd: TOOLS });
  });
}

test('the status of a NewPet is optional for openapi-typescript, Hey API and orval', async () => {
  const folder = join(TOOLS, 'optional');
  await tool(
    'openapi-typescript/bin/cli.js',
    'openapi.json',
    '-o',
    'optional/openapi-typescript.ts',
  );
  await tool('@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'optional/hey-api');
  const orval = {
    pets: { input: '../openapi.json', output: { target: './orval.ts', client: 'fetch' } },
  };
  await writeFile(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(orval)};\n`);
  await tool('orval/dist/bin/orval.mjs', '--config', 'optional/orval.config.mjs');
  for (const file of ['openapi-typescript.ts', 'hey-api/types.gen.ts', 'orval.ts']) {
    const source = await readFile(join(folder, file), 'utf8');
    const newPet = /\bNewPet\b[ =:]*\{(.*?)^ *\}/ms.exec(source)?.[1] ?? '';
    assert.match(newPet, /\bname: string/, file);
    assert.match(newPet, /\bstatus\?:/, file);
  }
});

test('the generated clients compile in strict mode and run the examples of the document', async () => {
  const markdown = await readFile(join(ROOT, 'docs', 'generated-clients.md'), 'utf8');
  const examples = [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) =>
    code.replace(BASE_URL, service.baseUrl),
  );
  const config = /^```js\n(.*?)^```$/ms.exec(markdown)?.[1] ?? '';
  assert.equal(examples.length, 2);

  const folder = join(TOOLS, 'examples');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await tool('openapi-typescript/bin/cli.js', 'served.json', '-o', 'examples/petstore.ts');
  const site = BASE_URL.replace('/v1', '');
  const servedFile = join(TOOLS, 'served.json');
  await writeFile(
    join(TOOLS, 'openapi-ts.config.js'),
    config.replace(`${site}/openapi.json`, servedFile).replace("'hey-api'", "'examples/hey-api'"),
  );
  await tool('@hey-api/openapi-ts/bin/run.js');

  const compilerOptions = {
    module: 'nodenext',
    target: 'esnext',
    lib: ['esnext', 'dom', 'dom.iterable'],
    types: ['node'],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    noUncheckedIndexedAccess: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  for (const [index, code] of examples.entries()) {
    await writeFile(join(folder, `example-${index}.ts`), code);
  }
  await tool('typescript/bin/tsc', '-p', 'examples');

  for (const index of examples.keys()) {
    const { stdout } = await run(process.execPath, [join(folder, `example-${index}.ts`)], {
      env: { PETSTORE_API_KEY: service.key },
    });
    const pet = `{ id: ${index + 1}, name: 'Rex', categoryId: 7, status: 'available' }`;
    const link = `<${service.baseUrl}/pets?limit=10&status=available>; rel="first", <${service.baseUrl}/pets?limit=10&status=available&cursor=last>; rel="last"`;
    assert.equal(stdout, `${pet}\n${index + 1} ${link}\ninvalid_field 400\n`);
  }
});

// Checks the OpenAPI document with the tools that its readers use, and runs the examples in TypeScript beside
// this file. `npm run test:generators` runs this file. The tools need TypeScript 5, so they
// have their own lock file.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { send, type TestService } from '../../harness/test-service.ts';
import { installTools, toolsFolder } from '../../harness/tools.ts';
import { blocksOf, DOCUMENTED_ORIGIN, IS_NEWEST, OUTPUT, ROOT, startService } from './programs.ts';

const TOOLS = toolsFolder(import.meta.dirname);
const DOCUMENTS = ['openapi.json', 'served.json'];
const run = promisify(execFile);

const skip = await installTools(import.meta.dirname);

let service: TestService;
before(async () => {
  service = await startService();
  if (skip !== false) return;
  if (IS_NEWEST) await installNewest();
  const served = await send(service.baseUrl.replace('/v1', '/openapi.json'));
  await writeFile(join(TOOLS, 'served.json'), served.text);
  await cp(join(ROOT, 'openapi.json'), join(TOOLS, 'openapi.json'));
});
after(() => service.close());

/** Replaces the tools by their newest versions. The next run installs those of the lock file again. */
async function installNewest(): Promise<void> {
  await rm(join(TOOLS, 'node_modules', '.stamp'), { force: true });
  const { dependencies } = JSON.parse(await readFile(join(TOOLS, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  // Some tools do not run on TypeScript 7.
  const names = Object.keys(dependencies).filter((name) => name !== 'typescript');
  const newest = names.map((name) => `${name}@latest`);
  await run('npm', ['install', '--ignore-scripts', '--loglevel=error', ...newest], { cwd: TOOLS });
}

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
  test(`${document}: Redocly reports nothing`, { skip }, async () => {
    const strict = '--extends=recommended-strict';
    const report = await tool('@redocly/cli/bin/cli.js', 'lint', document, strict);
    assert.doesNotMatch(report, /warning|error/i);
  });

  test(`${document}: Spectral reports nothing`, { skip }, async () => {
    await writeFile(join(TOOLS, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
    await tool('@stoplight/spectral-cli/dist/index.js', 'lint', document, '--fail-severity=hint');
  });

  test(`${document}: swagger-parser reports nothing`, { skip }, async () => {
    const validate = `import parser from '@apidevtools/swagger-parser'; await parser.validate('${document}');`;
    await run(process.execPath, ['--input-type=module', '--eval', validate], { cwd: TOOLS });
  });
}

test(
  'the status of a NewPet is optional for openapi-typescript, Hey API and orval',
  { skip },
  async () => {
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
  },
);

test(
  'the generated clients compile in strict mode and run the programs of the page',
  { skip },
  async () => {
    const sections = [
      blocksOf(
        'TypeScript: openapi-typescript and openapi-fetch',
        'test/generators/openapi-fetch.md',
      ),
      blocksOf('TypeScript: Hey API', 'test/generators/hey-api.md'),
    ];
    const origin = new URL(service.baseUrl).origin;
    const folder = join(TOOLS, 'examples');
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    await tool('openapi-typescript/bin/cli.js', 'served.json', '-o', 'examples/petstore.ts');
    await writeFile(
      join(TOOLS, 'openapi-ts.config.js'),
      (sections[1]?.['js'] ?? '')
        .replace(`${DOCUMENTED_ORIGIN}/openapi.json`, join(TOOLS, 'served.json'))
        .replace("'hey-api'", "'examples/hey-api'"),
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
    const files = sections.map((_, index) => join(folder, `program-${index}.ts`));
    for (const [index, { ts = '' }] of sections.entries()) {
      await writeFile(files[index] ?? '', ts.replaceAll(DOCUMENTED_ORIGIN, origin));
    }
    await tool('typescript/bin/tsc', '-p', 'examples');
    for (const file of files) {
      const env = { PETSTORE_API_KEY: service.key };
      assert.equal((await run(process.execPath, [file], { env })).stdout, OUTPUT, file);
    }
  },
);

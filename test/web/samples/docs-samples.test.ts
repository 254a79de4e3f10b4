// Every sample of the pages at /docs, taken from the HTML that the service sends and run against it.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { processVariables } from '../../../src/config.ts';
import { DOCS } from '../../../src/web/docs/contents.ts';
import { listAll } from '../../../harness/client.ts';
import { needs, needsProgram } from '../../../harness/needs.ts';
import { temporaryFolder } from '../../../harness/temporary-folder.ts';
import {
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../../harness/test-service.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const execute = promisify(execFile);
const RUN_TIMEOUT_MS = 120_000;
/** More than one page of 100. */
const SEEDED = 130;

/** Pages whose commands other tests run: web-site.test.ts, and for docs/ those that test/project/docs.unit.test.ts names. */
const RUN_ELSEWHERE: readonly string[] = DOCS.filter(
  ({ path, file }) => path === '/docs/web-site' || file.startsWith('docs/'),
).map(({ path }) => path);
const isRunElsewhere = ({ page, code }: Sample): boolean =>
  // sdk/test/package.test.ts runs this one.
  code.startsWith('npm pack') || RUN_ELSEWHERE.includes(page);

interface Sample {
  page: string;
  language: string;
  code: string;
}

/** What a sample prints when it has worked, by a part of its text. The first match counts. */
const EXPECTED: [part: RegExp, output: RegExp][] = [
  [/Idempotency-Key|idempotencyKey/, /Luna/],
  [/If-None-Match/, /304/],
  [/etag-compare/, /^(?:200|304)$/m],
  [/catalogue/, /^/],
  [/petstore import/, /^$/],
  [/while|for await/, /Last/],
  [/Deprecation|deprecation/, /^sunset: Thu, 05 Dec 2030/im],
  [/curl -I/, /^HTTP\/1.1 200/],
  [/keys (?:create|rotate)/, /pet_live_/],
  [/keys|^export/, /^/],
  [/\/pets|store\.pets/, /Rex/],
];

let service: TestService;
let folder = '';
let samples: Sample[] = [];

before(async () => {
  service = await startTestService(sqliteStorage);
  await service.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
  for (let count = 1; count <= SEEDED; count += 1) {
    const name = count === SEEDED ? 'Last' : `Animal ${count}`;
    const body = JSON.stringify({ name, categoryId: 1 });
    assert.equal((await service.send('/pets', { method: 'POST', body })).status, 201);
  }
  folder = temporaryFolder();
  const library = join(folder, 'node_modules', 'petstore-client');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'package.json'), '{"type":"module","exports":"./index.js"}');
  const source = new URL('../../../sdk/src/index.ts', import.meta.url).href;
  writeFileSync(join(library, 'index.js'), `export * from '${source}';\n`);
  writeFileSync(join(folder, 'animals.csv'), 'name,category\nMax,7\n');
  samples = await servedSamples();
});

after(async () => {
  await service.close();
});

async function servedSamples(): Promise<Sample[]> {
  const found = new Map<string, Sample>();
  for (const { path } of DOCS) {
    const html = await (await fetch(service.baseUrl.replace('/v1', path))).text();
    for (const [, language = '', code = ''] of html.matchAll(
      /data-language="(\w*)"><pre[^>]*><code>(.*?)<\/code>/gs,
    )) {
      const text = unescape(code);
      found.set(`${language} ${text}`, { page: path, language, code: `${text}\n` });
    }
  }
  return [...found.values()];
}

function unescape(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(\w+);/g, (_, name: string) => characters[name] ?? '');
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

async function run(command: string, args: string[], cwd = folder): Promise<string> {
  const { stdout } = await execute(command, args, {
    cwd,
    timeout: RUN_TIMEOUT_MS,
    env: {
      ...processVariables,
      PATH: [join(root, 'node_modules', '.bin'), processVariables['PATH']].join(delimiter),
      PETSTORE_API_KEY: service.key,
      PETSTORE_DATA: service.flags[1],
    },
  });
  return stdout;
}

const RUNNERS: Record<string, (file: string, code: string) => Promise<string>> = {
  curl: (_, code) => run('bash', ['-euo', 'pipefail', '-c', code]),
  sh: async (_, code) => {
    // Not the key that the other samples use.
    const key = (await service.listKeys()).find(({ name }) => name !== 'first key');
    const command = code
      .replaceAll('key_4fR9sT0aBc', key?.id ?? '')
      .replace("'<API_KEY>'", service.key)
      .replace('animals.csv', join(folder, 'animals.csv'))
      // The command of this clone.
      .replaceAll(/^petstore /gm, './petstore ');
    return run(
      'bash',
      ['-euo', 'pipefail', '-c', command],
      /npx|\.\/petstore/.test(command) ? root : folder,
    );
  },
  client: (file) => run(process.execPath, [`${file}.mjs`]),
  fetch: (file) => run(process.execPath, [`${file}.mjs`]),
  python: (file) => run('python3', [`${file}.py`]),
};

async function runSample({ page, language, code }: Sample, index: number): Promise<void> {
  const file = join(folder, `sample-${index}`);
  const extension = language === 'python' ? 'py' : 'mjs';
  writeFileSync(`${file}.${extension}`, code);
  const output = await RUNNERS[language]?.(file, code);
  const expected = EXPECTED.find(([part]) => part.test(code))?.[1];
  assert.ok(expected, `${page}: no output is expected of this sample:\n${code}`);
  assert.match(output ?? '', expected, `${page} (${language}):\n${code}`);
  assert.doesNotMatch(output ?? '', /"code":"/, `${page} (${language}) gets an error:\n${code}`);
}

function isLast({ code }: Sample): boolean {
  return code.includes('revoke');
}

describe('The samples of /docs', () => {
  for (const language of ['curl', 'client', 'fetch', 'python']) {
    const isMissing = language === 'python' && !succeeds('python3', '-c', 'import requests');
    const skip = needs('Python 3 with the package requests', !isMissing);
    test(`every sample in ${language} runs`, { skip }, async () => {
      const those = samples.filter((sample) => sample.language === language);
      assert.ok(those.length >= 4, `There are only ${those.length} samples.`);
      for (const [index, sample] of those.entries()) await runSample(sample, index);
    });
  }

  test('every command runs', async () => {
    const commands = samples.filter(({ language }) => language === 'sh');
    const here = commands.filter((sample) => !isRunElsewhere(sample));
    assert.ok(here.length >= 8, `There are only ${here.length} commands.`);
    // A revoked key cannot be rotated, so the command that revokes comes last.
    here.sort((a, b) => Number(isLast(a)) - Number(isLast(b)));
    for (const [index, sample] of here.entries()) await runSample(sample, index);
  });

  test('every sample in Go is formatted and valid', { skip: needsProgram('go') }, async () => {
    const those = samples.filter(({ language }) => language === 'go');
    assert.ok(those.length >= 5);
    const workspace = join(folder, 'go');
    mkdirSync(workspace);
    writeFileSync(join(workspace, 'go.mod'), 'module samples\n');
    for (const [index, { code }] of those.entries()) {
      mkdirSync(join(workspace, `sample${index}`));
      writeFileSync(join(workspace, `sample${index}`, 'main.go'), code);
    }
    assert.equal(await run('gofmt', ['-l', '.'], workspace), '');
    await run('go', ['vet', './...'], workspace);
  });

  test('after all these repetitions there is one animal with the idempotency key', async () => {
    const found = (await listAll(service)).filter(({ name }) => name === 'Luna');
    assert.equal(found.length, 1);
  });

  test('every example of JSON is valid', () => {
    const those = samples.filter(({ language }) => language === 'json');
    assert.ok(those.length >= 3);
    for (const { code } of those) JSON.parse(code);
  });
});

function headerLines(code: string): [name: string, value: string][] {
  const head = code.split('\n\n')[0] ?? '';
  return [...head.matchAll(/^([\w-]+): (.*)$/gm)].map(([, name = '', value = '']) => [
    name.toLowerCase(),
    value,
  ]);
}

function fieldsOf(each: unknown): string[] {
  return Object.keys(Array.isArray(each) ? each[0] : each);
}

describe('The example responses of /docs/reference', () => {
  const requests: [status: number, path: string, init?: { method?: string; body?: string }][] = [
    [200, '/pets'],
    [201, '/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' }],
    [400, '/pets?limit=0'],
    [400, '/pets', { method: 'POST', body: '{}' }],
    [404, '/pets/999999'],
  ];
  for (const [status, path, init] of requests) {
    test(`${init?.method ?? 'GET'} ${path} gives ${status} as one of them shows it`, async () => {
      const response = await service.send(path, init);
      assert.equal(response.status, status);
      const matching = samples.filter(
        ({ page, language, code }) =>
          page === '/docs/reference' &&
          language === 'http' &&
          code.startsWith(`HTTP/1.1 ${status}`) &&
          headerLines(code).every(([name]) => response.headers[name] !== undefined),
      );
      assert.notEqual(matching.length, 0, 'no example has only headers that the response has');
      for (const { code } of matching) {
        for (const [name, value] of headerLines(code)) {
          if (!['cache-control', 'content-type'].includes(name)) continue;
          assert.equal(value, response.headers[name], name);
        }
        const body = JSON.parse(code.slice(code.indexOf('\n\n'))) as object;
        assert.deepEqual(fieldsOf(body), fieldsOf(response.json()));
      }
    });
  }
});

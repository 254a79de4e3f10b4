// The command line as people and scripts use it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { COMMANDS } from '../../src/cli/commands.ts';
import { failureOf } from '../../src/cli/failure.ts';
import { executeOrExplain } from '../../src/cli/run.ts';
import { loadConfig, SETTINGS } from '../../src/config.ts';
import { newSecret } from '../../src/domain/api-key.ts';
import { listen, localUrl } from '../../src/listen.ts';
import { MAIN, refusalIn, runHere } from '../../harness/command.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send, startTestService, storageOf, type TestService } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';
import type { Setting } from '../../src/setting.ts';

async function statusOf(url: string, key: string, method = 'GET'): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = method === 'POST' && { body: '{"name":"Rex","categoryId":1}' };
  return (await fetch(`${url}/pets`, { method, headers, ...body })).status;
}

test('a command loads itself and the settings, and no package of the service', () => {
  const hook = `import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    process.on('exit', () => console.log(urls.join('\\n')));`;
  const load = `data:text/javascript,${encodeURIComponent(hook)}`;
  const args = ['--import', load, MAIN, 'health', '--help'];
  const loaded = execFileSync(process.execPath, args, { encoding: 'utf8' });
  assert.match(loaded, /\/node_modules\/commander\//);
  assert.doesNotMatch(loaded, /\/node_modules\/(?!commander\/|node-)/);
});

// test/golden/commands has every refusal, as a terminal shows it.
test('without a terminal a refusal of the service is one line of JSON, and that of a command one of text, neither with a secret', async () => {
  const refused: [args: string[], env: Record<string, string>, line: RegExp][] = [
    [['serve', '--port', '\u001b[2J'], {}, /--port is "\\u001b\[2J"/],
    [['serve', '--prot', '1'], {}, /\(Did you mean --port\?\)/],
    [['serve'], { DATABASE_URL: 'mysql://me:secret@a/b' }, /DATABASE_URL is not usable/],
    [['serve'], { PETSTORE_BOOTSTRAP_KEY: 'pet_live_mine' }, /PETSTORE_BOOTSTRAP_KEY/],
    [
      ['keys', 'list', '--database', 'mysql://me:secret@a/b'],
      {},
      /an argument may have a password/,
    ],
  ];
  for (const [args, env, line] of refused) {
    const { code, stdout, stderr } = await runHere(args, { env });
    assert.deepEqual([code, stdout], [2, ''], stderr);
    assert.equal(stderr.startsWith('{'), args[0] === 'serve', 'only the service writes JSON');
    if (args[0] === 'serve') assert.match(stderr, /"exitCode":2,/);
    const refusal = refusalIn(stderr);
    assert.match(refusal, /^petstore: [^\n]+\n$/);
    assert.match(refusal, line);
    assert.doesNotMatch(stderr, /secret|pet_live_mine/);
  }
});

test('on a terminal, the service is refused in text, as a command is', async () => {
  let stderr = '';
  const code = await executeOrExplain(COMMANDS, ['serve', '--port', 'http'], {
    env: {},
    stdout: { write: () => true },
    stderr: { isTTY: true, write: (text) => (stderr += text) },
  });
  assert.equal(code, 2);
  assert.match(stderr, /^petstore: --port is "http": [^\n]+\n$/);
});

test('a defect of a command is thrown, with its stack trace', async () => {
  const output = { write: () => assert.fail('nothing is printed') };
  const registry = { fail: () => Promise.reject(new TypeError('a defect')) };
  await assert.rejects(
    executeOrExplain(registry, ['fail'], { env: {}, stdout: output, stderr: output }),
    { name: 'TypeError', message: 'a defect' },
  );
});

const LIMITS: [flag: string, accepted: string[], refusedValues: string[]][] = [
  ['host', ['::1', 'pets.example'], ['', 'a b', 'a/b']],
  ['port', ['0', '65535'], ['-1', '65536', '1.5', '1e3', '0x10', '']],
  ['admin-port', ['off', '65535'], ['Off', '65536']],
  [
    'base-url',
    ['http://a/v1', 'https://a.example:8443/store/v1'],
    ['a/v1', 'xhttp://a/v1', 'http://a/v1/', 'http://a/v1?b', 'http://me@a/v1', 'http://a/v10'],
  ],
  ['data', ['/srv'], ['']],
  ['database', ['postgres://a/b', 'postgresql://a/b'], ['xpostgres://a/b', 'postgres:a']],
  [
    'rate-limit',
    ['off', '1/1s', '100000000/86400s'],
    ['0/60s', '100000001/60s', '600/0s', '600/86401s', '600/60', '1 600/60s', '600/60s ', 'on'],
  ],
  [
    'cors-origins',
    ['https://a.example', 'https://a.example, http://localhost:3000'],
    ['a.example', 'https://a.example,', 'https://a.example,https://b.example/x', '*'],
  ],
  ['workers', ['1', '256', 'auto'], ['257', 'all']],
  ['drain-delay', ['0', '300'], ['301']],
  ['access-log', ['off', '-'], ['on']],
];
for (const [flag, accepted, refusedValues] of LIMITS) {
  test(`--${flag} accepts every valid value, and refuses all others in a message that names it`, () => {
    for (const value of accepted)
      assert.doesNotThrow(() => loadConfig({ [flag]: value }, {}), value);
    for (const value of refusedValues) {
      assert.throws(() => loadConfig({ [flag]: value }, {}), {
        name: 'UsageError',
        message: new RegExp(`^--${flag} is .*: it must be `),
      });
    }
  });
}

test('lists and limits of settings are read whole', () => {
  const config = loadConfig(
    { 'cors-origins': 'https://a.example, http://localhost:3000', 'rate-limit': '600/60s' },
    {},
  );
  assert.deepEqual(config.corsOrigins, ['https://a.example', 'http://localhost:3000']);
  assert.deepEqual(config.rateLimit, { requests: 600, windowSeconds: 60 });
});

test('an admin port must be usable if its number or its address was given', () => {
  const given = [{}, { 'admin-port': '9464' }, { 'admin-host': '0.0.0.0' }];
  assert.deepEqual(
    given.map((flags) => loadConfig(flags, {}).isAdminGiven),
    [false, true, true],
  );
});

test('PETSTORE_BOOTSTRAP_KEY must be of the environment, and is not used if it is empty', () => {
  const key = newSecret('staging', () => crypto.getRandomValues(new Uint8Array(30)));
  const given = { PETSTORE_BOOTSTRAP_KEY: key };
  assert.equal(loadConfig({ env: 'staging' }, given).bootstrapKey, key);
  assert.equal(loadConfig({}, { PETSTORE_BOOTSTRAP_KEY: '' }).bootstrapKey, undefined);
  assert.throws(() => loadConfig({ env: 'production' }, given), { name: 'UsageError' });
});

test('the address for a client of the same machine names one that it can reach', () => {
  assert.equal(localUrl('0.0.0.0', 80), 'http://127.0.0.1:80');
  assert.equal(localUrl('::', 80), 'http://127.0.0.1:80');
  assert.equal(localUrl('::1', 80), 'http://[::1]:80');
  assert.equal(localUrl('pets.example', 80), 'http://pets.example:80');
});

/** A service in this process, on the store of a folder. */
async function serveHere(t: TestContext, data: string, ...flags: string[]): Promise<TestService> {
  const service = await startTestService(storageOf('--data', data), { flags });
  t.after(() => service.close());
  return service;
}

/** Why a service with these settings does not start, as `serve` prints it. */
async function refusalOfStart(t: TestContext, flags: readonly string[]) {
  const started = serveHere(t, temporaryFolder(t), ...flags);
  return failureOf(await started.catch((error: unknown) => error));
}

test('a port that is in use is refused with exit code 2, in a line that names the setting', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  for (const [flags, setting] of [
    [['--port', String(port)], '--port \\(PETSTORE_PORT\\)'],
    [['--admin-port', String(port)], '--admin-port \\(PETSTORE_ADMIN_PORT\\)'],
  ] as const) {
    const failure = await refusalOfStart(t, flags);
    assert.equal(failure?.exitCode, 2);
    assert.match(failure.line, new RegExp(`${port}.* already in use: ${setting}`));
  }
});

test('a listener that fails for a reason which no setting explains is a defect', async () => {
  const parts = {
    createHandler: () => assert.fail('nothing listens'),
    host: '127.0.0.1',
    port: 65_536,
    newRequestId: () => 'request-1',
  };
  await assert.rejects(listen('', parts), { name: 'RangeError', code: 'ERR_SOCKET_BAD_PORT' });
});

for (const [what, flag, setting] of [
  ['a host', '--host', /--host \(PETSTORE_HOST\)/],
  ['an admin host', '--admin-host', /--admin-host \(PETSTORE_ADMIN_HOST\)/],
] as const) {
  test(`${what} that is not an address of this machine is refused in a message that names it`, async (t) => {
    const failure = await refusalOfStart(t, ['--admin-port', '0', flag, '192.0.2.1']);
    assert.equal(failure?.exitCode, 2);
    assert.match(failure.line, /192\.0\.2\.1/);
    assert.match(failure.line, setting);
  });
}

test('flags take precedence over variables, and variables over defaults', () => {
  const env = { PETSTORE_ENV: 'staging', PETSTORE_BASE_URL: 'https://staging.example/v1' };
  const staging = loadConfig({}, env);
  assert.equal(staging.environment, 'staging');
  assert.equal(staging.baseUrl, 'https://staging.example/v1');
  const flags = { env: 'production', 'base-url': 'https://pets.example/v1' };
  const production = loadConfig(flags, env);
  assert.equal(production.environment, 'production');
  assert.equal(production.baseUrl, 'https://pets.example/v1');
  assert.equal(loadConfig({}, {}).environment, 'production');
});

test('a variable that is empty counts as not set, as a compose file may leave it', () => {
  const byDefault = loadConfig({}, {});
  for (const { variable } of Object.values<Setting>(SETTINGS)) {
    if (variable !== undefined) assert.deepEqual(loadConfig({}, { [variable]: '' }), byDefault);
  }
});

test('production and staging run at the same time from one checkout, and each refuses the key of the other', async (t) => {
  const data = temporaryFolder(t);
  const production = await serveHere(t, data);
  const staging = await serveHere(t, data, '--env', 'staging');
  assert.match(production.key, /^pet_live_/);
  assert.match(staging.key, /^pet_test_/);
  assert.equal(await statusOf(production.baseUrl, production.key, 'POST'), 201);
  assert.equal(await statusOf(production.baseUrl, staging.key), 401);
  assert.equal(await statusOf(staging.baseUrl, production.key), 401);
  assert.equal((await staging.send('/pets')).text, '[]');
});

test('without a terminal the first key is alone on standard output, and is printed once; then the start prints the command that creates one', async (t) => {
  const data = join(temporaryFolder(t), "it's here");
  const flags = ['--data', data, '--env', 'staging'];
  const first = await serve(t, flags);
  assert.equal(first.stdout(), `${first.key}\n`);
  assert.ok(!first.stderr().includes(first.key));
  assert.equal(await statusOf(first.baseUrl, first.key), 200);
  first.signal('SIGTERM');
  assert.equal(await first.ended, 0);
  const second = await serve(t, flags);
  assert.equal(second.stdout(), '');
  const createKey = String(second.started['createKey']);
  const [, args] = /^\.\/petstore (keys create .*)$/.exec(createKey) ?? [];
  assert.match(String(args), / --env staging/);
  const shell = `"$NODE" "$MAIN" ${args}`;
  const key = execFileSync('sh', ['-c', shell], {
    // As in another terminal: without the variables of the service, and in another folder.
    env: { NODE: process.execPath, MAIN },
    cwd: temporaryFolder(t),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  assert.equal(await statusOf(second.baseUrl, key.toString().trim()), 200);
});

test('a start that fails, as on a port in use, creates no key that nobody sees', async (t) => {
  const data = temporaryFolder(t);
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const port = String((other.address() as AddressInfo).port);
  const refused = await runHere(['serve', '--data', data, '--port', port, '--admin-port', 'off']);
  assert.deepEqual([refused.code, refused.stdout], [2, '']);
  const next = await serve(t, ['--data', data]);
  assert.equal(next.stdout(), `${next.key}\n`);
  assert.equal(await statusOf(next.baseUrl, next.key), 200);
});

test('a warning of Node.js is logged as one line, and an ExperimentalWarning only with --log debug', async (t) => {
  const warning = 'process.once("SIGUSR2", () => process.emitWarning("take care"))';
  const importing = ['--import', `data:text/javascript,${encodeURIComponent(warning)}`] as const;
  const service = await serve(t, ['--data', temporaryFolder(t), '--log', 'debug'], {
    command: [process.execPath, ...importing, MAIN],
  });
  // Node.js warns that the function which strips the types of this file is experimental.
  const page = await fetch(new URL('/assets/src/web/console/page/main.ts', service.baseUrl));
  assert.equal(page.status, 200);
  assert.match(page.headers.get('x-request-id') ?? '', /^[\w-]{12}\.[\da-z]+$/);
  service.signal('SIGUSR2');
  await until('it is logged', () => service.stderr().includes('take care'));
  service.signal('SIGTERM');
  await service.ended;
  const lines = service.stderr().trim().split('\n');
  const warnings = lines.filter((line) => line.includes('Warning'));
  assert.deepEqual(
    warnings.map((line) => (JSON.parse(line) as { level: string }).level),
    ['debug', 'warn'],
  );
});

test('PETSTORE_BOOTSTRAP_KEY becomes the first key and is not printed', async (t) => {
  const key = newSecret('production', () => crypto.getRandomValues(new Uint8Array(30)));
  const service = await serve(t, ['--data', temporaryFolder(t)], {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
  });
  assert.equal(service.key, '');
  assert.equal(await statusOf(service.baseUrl, key), 200);
});

// test/golden/commands/keys.txt has what the commands print.
test('keys that are created, rotated and revoked while the service runs are accepted and refused at once', async (t) => {
  const data = temporaryFolder(t);
  const service = await serveHere(t, data);
  const keys = async (...args: string[]) => {
    const { code, stdout } = await runHere(['keys', ...args, '--data', data, '--json']);
    assert.equal(code, 0);
    return JSON.parse(stdout || '{}') as { key: string; id: string };
  };
  const { key, id } = await keys('create', '--name', 'shop', '--scopes', 'pets:read');
  assert.equal(await statusOf(service.baseUrl, key), 200);
  assert.equal(await statusOf(service.baseUrl, key, 'POST'), 403);

  const rotated = await keys('rotate', id, '--overlap', '1h');
  assert.equal(await statusOf(service.baseUrl, key), 200, 'it is valid during the overlap');
  assert.equal(await statusOf(service.baseUrl, rotated.key), 200);
  assert.equal(await statusOf(service.baseUrl, rotated.key, 'POST'), 403);

  await runHere(['keys', 'revoke', id, '--data', data]);
  const revokedMs = performance.now();
  // On a busy machine the service may respond with 503 until it has read the keys again.
  for (let status = 200; status !== 401;) {
    const sentMs = performance.now() - revokedMs;
    status = await statusOf(service.baseUrl, key);
    assert.ok(status !== 200 || sentMs < 5_000, 'a revoked key is refused within 5 seconds');
    await sleep(100);
  }
});

test('keys list shows when each key last called the deprecated operation, on whatever worker', async (t) => {
  const store = ['--data', temporaryFolder(t)];
  const service = await serve(t, [...store, '--workers', '2']);
  const made = await runHere(['keys', 'create', '--name', 'shop', '--json', ...store]);
  const { key, id } = JSON.parse(made.stdout) as { key: string; id: string };
  const headers = { authorization: `Bearer ${key}` };
  assert.equal((await send(`${service.baseUrl}/pets/1`, { headers })).status, 404);
  assert.equal(await statusOf(service.baseUrl, service.key), 200);
  service.signal('SIGTERM');
  assert.equal(await service.ended, 0);

  const listed = await runHere(['keys', 'list', '--json', ...store]);
  const calls = listed.stdout
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as Record<'name' | 'lastUsedAt' | 'lastDeprecatedCallAt', string>,
    );
  const [first, shop] = calls;
  assert.deepEqual([first?.name, first?.lastDeprecatedCallAt], ['first key', null]);
  assert.equal(shop?.name, 'shop');
  for (const { lastUsedAt } of calls) {
    assert.ok(
      Math.abs(Date.parse(lastUsedAt) - Date.now()) < 3_600_000,
      `last used at ${lastUsedAt}`,
    );
  }
  assert.ok(Math.abs(Date.parse(shop.lastDeprecatedCallAt) - Date.now()) < 3_600_000);
  const table = await runHere(['keys', 'list', ...store]);
  const minute = shop.lastDeprecatedCallAt.replace(/:\d\d\.\d+Z$/, 'Z');
  assert.match(table.stdout, new RegExp(`^${id} +active .* ${minute} +shop$`, 'm'));
});

test('keys created before the first start are accepted, and the start creates no key', async (t) => {
  const data = temporaryFolder(t);
  const made = await runHere(['keys', 'create', '--name', 'early', '--create', '--data', data]);
  const service = await serveHere(t, data);
  assert.equal(service.key, '');
  assert.equal(await statusOf(service.baseUrl, made.stdout.trim()), 200);
});

test('without a terminal, every line on standard error is a JSON object with its level, time and instance', async (t) => {
  // A defect of the service, in the middle of its work.
  const defect =
    'process.once("SIGUSR2", () => setImmediate(() => { throw new Error("a\\ndefect") }))';
  const importing = ['--import', `data:text/javascript,${encodeURIComponent(defect)}`] as const;
  for (const workers of ['1', '2']) {
    const service = await serve(t, ['--data', temporaryFolder(t), '--workers', workers], {
      command: [process.execPath, ...importing, MAIN],
    });
    service.signal('SIGUSR2');
    assert.equal(await service.ended, 1);
    const lines = service.stderr().trim().split('\n');
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const { level, time, instance } of parsed) {
      assert.match(String(level), /^(?:info|warn|error|fatal)$/);
      assert.match(String(time), /^\d{4}-\d\d-\d\dT\S+Z$/);
      assert.match(String(instance), /^.+:\d+$/);
    }
    const started = parsed.find(({ msg }) => msg === 'started');
    assert.equal(started?.['version'], service.started['version']);
    assert.match(String(service.started['version']), /^\d+\.\d+\.\d+$/);
    const fatal = parsed.find(({ level }) => level === 'fatal');
    assert.match(JSON.stringify(fatal?.['err']), /a\\ndefect.*stack/);
  }
});

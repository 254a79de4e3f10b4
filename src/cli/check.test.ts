import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  KEY,
  openReferenceService,
  type ReferenceServiceOptions,
} from '../../check/reference-service.test-server.ts';
import type { Report } from '../../check/report.ts';
import { checkAddresses } from '../../check/run.ts';
import { UsageError } from '../setting.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

/** One key for each address. */
const KEYS = { PETSTORE_API_KEY: KEY, PETSTORE_API_KEY_2: KEY };

async function run(
  args: string[],
  { env = KEYS, isTTY = false }: { env?: Record<string, string>; isTTY?: boolean } = {},
) {
  const shown = { out: '', err: '' };
  const stdout = { isTTY, write: (text: string) => (shown.out += text) };
  const stderr = { write: (text: string) => (shown.err += text) };
  const code = await execute(COMMANDS, ['check', ...args], { env, stdout, stderr });
  return { code, ...shown };
}

/** For servers that do not implement the interface. */
async function withServer<T>(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  use: (base: string) => Promise<T>,
): Promise<T> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function withReferenceService<T>(
  options: ReferenceServiceOptions,
  use: (base: string) => Promise<T>,
): Promise<T> {
  const { base, close } = await openReferenceService(options);
  try {
    return await use(base);
  } finally {
    await close();
  }
}

function repeatAuthorization({ headers }: IncomingMessage, response: ServerResponse): void {
  const { authorization: text = '' } = headers;
  const seen = [text, encodeURIComponent(text), JSON.stringify(text)];
  response.writeHead(418, { 'content-type': 'text/plain' }).end(seen.join('\n'));
}

function steerTerminal(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' }).end('\u001B[2J\u202Eevil\r\n');
}

test('a right service is shown section by section, with a summary at the end and exit code 0', async () => {
  const { code, out, err } = await withReferenceService({ animals: 25 }, (base) =>
    run([base, '--write']),
  );
  assert.equal(code, 0);
  assert.equal(err, '');
  assert.match(out, /\nEndpoints\n {2}✓ GET \/pets: 200, JSON array of Pet\. listPets\.200\n/);
  assert.match(out, /\n {2}– The interface version is 1\.0\.0\. version\n {6}not checked: /);
  assert.match(out, /\n\d+ kept, 0 broken, \d+ not checkable\n/);
  assert.ok(!out.includes('✗'));
});

test('this service keeps every clause, and staging has the interface of production', async () => {
  const production = await startTestService(sqliteStorage);
  const staging = await startTestService(sqliteStorage, { flags: ['--env', 'staging'] });
  try {
    const env = { PETSTORE_API_KEY: production.key, PETSTORE_API_KEY_2: staging.key };
    const addresses = [production.baseUrl, staging.baseUrl];
    const { code, out } = await run([...addresses, '--write', '--json'], { env });
    const { clauses, differences } = JSON.parse(out) as Report;
    const unkept = clauses.filter(({ results }) => results.some((each) => each.verdict !== 'kept'));
    const ids = unkept.map(({ id }) => id);
    assert.deepEqual(ids, ['getPet.deprecated', 'version', 'getPet.removed']);
    assert.deepEqual(differences, []);
    assert.equal(code, 0);
  } finally {
    await production.close();
    await staging.close();
  }
});

test('this service has removed getPet after 5 December 2030', async () => {
  const now = new Date('2031-01-01T00:00:00Z');
  const service = await startTestService(sqliteStorage, { now });
  const { baseUrl: base, key } = service;
  try {
    const subject = { base, key, now, mayWrite: true, run: 'test', unwantedCategoryId: 2n ** 45n };
    const { findings } = await checkAddresses([subject]);
    const broken = findings.filter(({ results }) =>
      results.some(({ verdict }) => verdict.kind === 'broken'),
    );
    assert.deepEqual(broken, []);
    const removed = findings.find(({ clause }) => clause.id === 'getPet.removed');
    assert.equal(removed?.results[0]?.verdict.kind, 'kept');
  } finally {
    await service.close();
  }
});

test('what was not checked is followed by the way to check it', async () => {
  await withReferenceService({ animals: 25 }, async (base) => {
    const args = [base];
    const reading = await run(args);
    assert.match(
      reading.out,
      /not checkable\n\d+ more can be checked with --write, which adds animals to the catalogue\.\n4 more can be checked with a second address, such as that of staging\.\n$/,
    );
    assert.match((await run([...args, '--write'])).out, /not checkable\n4 more .* second address/);
    const both = await run([base, ...args, '--write']);
    assert.match(both.out, /not checkable\n$/);
  });
});

test('a broken clause shows request, response and expectation, and gives exit code 1', async () => {
  const { code, out } = await withReferenceService(
    { animals: 5, deviation: 'responds 403 for 401' },
    (base) => run([base]),
  );
  assert.equal(code, 1);
  assert.ok(
    out.includes(
      [
        '  ✗ GET /pets: 401, Error, when the API key is missing. listPets.401',
        '      request: GET /pets without an Authorization header',
        '      response: 403, application/json; charset=utf-8, {"code":"refused","message":"Refused with 403.","status":403}',
        '      expected: 401 with an Error body',
      ].join('\n'),
    ),
    out,
  );
});

test('--json prints one document with the same fields for every clause', async () => {
  const { code, out } = await withReferenceService(
    { animals: 25, deviation: 'trims names' },
    (base) => run([base, '--write', '--json']),
  );
  assert.equal(code, 1);
  const report = JSON.parse(out) as Report;
  assert.deepEqual(Object.keys(report), [
    'specification',
    'addresses',
    'write',
    'clauses',
    'differences',
    'totals',
  ]);
  const details = { kept: [], broken: ['request', 'answer', 'expected'], 'not-checkable': ['why'] };
  const counted = { kept: 0, broken: 0, 'not-checkable': 0 };
  for (const { results, ...clause } of report.clauses) {
    assert.deepEqual(Object.keys(clause), ['id', 'section', 'sentence', 'writes']);
    for (const result of results) {
      const fields = ['address', 'verdict', ...details[result.verdict]];
      assert.deepEqual(Object.keys(result), fields);
      counted[result.verdict] += 1;
    }
  }
  const { kept, broken, notCheckable } = report.totals;
  assert.deepEqual({ kept, broken, 'not-checkable': notCheckable }, counted);
  assert.equal(broken, 1);
});

test('the key is never shown, even when a service repeats it in every form it received', async () => {
  // All but the last character would be enough to guess it.
  const guessable = KEY.slice(0, -2);
  const basic = Buffer.from(`petstore:${KEY}`).toString('base64');
  await withServer(repeatAuthorization, async (base) => {
    for (const format of [[], ['--json']]) {
      const { code, out, err } = await run([base, '--write', ...format]);
      assert.equal(code, 1);
      assert.ok(out.includes('(the key)'));
      for (const form of [guessable, encodeURIComponent(guessable), basic]) {
        assert.ok(!(out + err).includes(form), `${form} is shown`);
      }
    }
  });
});

test('control characters that a service sends do not reach the terminal', async () => {
  const { out } = await withServer(steerTerminal, (base) => run([base]));
  assert.ok(out.includes(String.raw`\u{1b}[2J\u{202e}evil`));
  assert.ok(!out.includes('\u001B') && !out.includes('\u202E'));
});

test('colours are for terminals, and NO_COLOR turns them off', async () => {
  await withReferenceService({ animals: 1 }, async (base) => {
    const args = [base];
    assert.ok((await run(args, { isTTY: true })).out.includes('\u001B[32m✓'));
    const plain = await run(args, { isTTY: true, env: { ...KEYS, NO_COLOR: '1' } });
    assert.ok(!plain.out.includes('\u001B'));
    assert.ok(!(await run(args)).out.includes('\u001B'));
  });
});

test('keys come from the environment, one for each address', async () => {
  await withReferenceService({ animals: 3 }, async (base) => {
    const { code, out } = await run([base, `${base}//`, '--json']);
    assert.equal(code, 0);
    const report = JSON.parse(out) as Report;
    assert.deepEqual(report.addresses, [base, base]);
    assert.deepEqual(report.differences, []);
  });
});

test('two addresses are two columns, with their differences below', async () => {
  await withReferenceService({ animals: 30 }, (one) =>
    withReferenceService({ animals: 30, deviation: 'lists 10 by default' }, async (other) => {
      const { code, out } = await run([one, other]);
      assert.equal(code, 1);
      assert.match(out, /\n {2}✓ ✗ limit default on GET \/pets: 20\./);
      assert.match(out, /\n {2}✗ {3}A staging environment with the same interface exists\./);
      assert.match(
        out,
        /\nDifferences\n {2}limit\.default is kept at the first address and broken/,
      );
    }),
  );
});

test('a key that the service refuses breaks one clause and makes the others not checkable', async () => {
  const { code, out } = await withReferenceService({ animals: 3 }, (base) =>
    run([base], { env: { PETSTORE_API_KEY: 'other' } }),
  );
  assert.equal(code, 1);
  assert.match(out, /expected: anything but 401, if the key is a valid one/);
  assert.match(out, /\n\d+ kept, 1 broken, \d+ not checkable\n/);
});

test('a failure to write the result is not taken for an address that cannot be reached', async () => {
  await withReferenceService({}, async (base) => {
    const stdout = { write: () => assert.fail('no space left') };
    const io = { env: KEYS, stdout, stderr: stdout };
    await assert.rejects(execute(COMMANDS, ['check', base], io), {
      name: 'AssertionError',
      message: 'no space left',
    });
  });
});

test('an address where nothing listens gives one line and exit code 2', async () => {
  const base = await withReferenceService({}, (address) => Promise.resolve(address));
  await assert.rejects(run([base]), {
    name: 'UsageError',
    message: `${base} cannot be reached (no response: ECONNREFUSED): start the service there, or give the address it has.`,
  });
});

test('no message repeats the value of an option that is not known, which may be a key', async () => {
  await assert.rejects(
    run(['http://a/v1', `--key=${KEY}`]),
    /^UsageError: --key is gone since version 2\.0\.0: set/,
  );
  await assert.rejects(
    run(['http://a/v1', `--token=${KEY}`]),
    /^UsageError: unknown option --token; /,
  );
});

const WRONG_USAGE: { args: string[]; env?: Record<string, string>; says: RegExp }[] = [
  {
    args: [],
    says: /^missing required argument 'BASE_URL'; see petstore check --help\.$/,
  },
  {
    args: ['http://a/v1', 'http://b/v1', 'http://c/v1'],
    says: /expected 2 arguments but got 3; see/,
  },
  {
    args: ['http://a/v1'],
    env: {},
    says: /^PETSTORE_API_KEY is not set\. Create a key with petstore keys create --name NAME, /,
  },
  {
    args: ['http://a/v1', 'http://b/v1'],
    env: { PETSTORE_API_KEY: KEY },
    says: /^PETSTORE_API_KEY_2 is not set\. Create a key with /,
  },
  { args: ['127.0.0.1:8080/v1'], says: /a URL, such as http:/ },
  { args: ['ftp://a/v1'], says: /a URL, such as http:/ },
  ...['me:secret@a/v1', 'me@a/v1', ':secret@a/v1', 'a/v1?x', 'a/v1#x'].map((rest) => ({
    args: [`http://${rest}`],
    says: /^a base address must have no user name, password, query or fragment\.$/,
  })),
  {
    args: ['http://a/v1'],
    env: { PETSTORE_API_KEY: `${KEY} x` },
    says: /^PETSTORE_API_KEY is not usable: it must be .* without spaces\.$/,
  },
  { args: ['http://a/v1', '--fast'], says: /^unknown option --fast; see/ },
  {
    args: ['http://a/v1', '--key', KEY],
    says: /^--key is gone since .*: set PETSTORE_API_KEY instead/,
  },
  {
    args: ['http://a/v1', '--key2', KEY],
    says: /^--key2 is gone since .*: set PETSTORE_API_KEY_2 instead/,
  },
];

for (const { args, env = KEYS, says } of WRONG_USAGE) {
  test(`\`petstore check ${args.join(' ').replaceAll(KEY, 'KEY')}\` is refused in one line without the key`, async () => {
    await assert.rejects(run(args, { env }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /\n|secret/);
      assert.ok(!error.message.includes(KEY));
      return true;
    });
  });
}

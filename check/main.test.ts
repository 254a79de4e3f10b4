import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { main } from './main.ts';
import {
  KEY,
  openReferenceService,
  type ReferenceServiceOptions,
} from './reference-service.test-server.ts';
import type { Report } from './report.ts';

const KEYS = { PETSTORE_API_KEY: KEY };

async function run(
  args: string[],
  { env = KEYS, isTTY = false }: { env?: Record<string, string>; isTTY?: boolean } = {},
) {
  const shown = { out: '', err: '' };
  const stdout = { isTTY, write: (text: string) => (shown.out += text) };
  const stderr = { write: (text: string) => (shown.err += text) };
  const code = await main(args, { env, stdout, stderr });
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

test('what was not checked is followed by the way to check it', async () => {
  await withReferenceService({ animals: 25 }, async (base) => {
    assert.match(
      (await run([base])).out,
      /not checkable\n\d+ more can be checked with --write, which adds animals to the catalogue\.\n$/,
    );
    assert.match((await run([base, '--write'])).out, /not checkable\n$/);
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
  assert.deepEqual(Object.keys(report), ['specification', 'address', 'write', 'clauses', 'totals']);
  const details = {
    kept: [],
    broken: ['request', 'response', 'expected'],
    'not-checkable': ['why'],
  };
  const counted = { kept: 0, broken: 0, 'not-checkable': 0 };
  for (const clause of report.clauses) {
    const fields = ['id', 'section', 'sentence', 'writes', 'verdict', ...details[clause.verdict]];
    assert.deepEqual(Object.keys(clause), fields);
    counted[clause.verdict] += 1;
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
      assert.equal(code, 1, err);
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

test('slashes at the end of the address change nothing', async () => {
  await withReferenceService({ animals: 3 }, async (base) => {
    const { code, out } = await run([`${base}//`, '--json']);
    assert.equal(code, 0);
    assert.equal((JSON.parse(out) as Report).address, base);
  });
});

test('where animals cannot be listed, the exit code is 2 and one line says why', async () => {
  const { code, err } = await withReferenceService({ animals: 3 }, (base) =>
    run([base], { env: { PETSTORE_API_KEY: 'other' } }),
  );
  assert.equal(
    err,
    'petstore-check: listing animals could not be judged: the service refuses the key.\n',
  );
  assert.equal(code, 2);
});

test('a failure to write the result is not taken for an address that cannot be reached', async () => {
  await withReferenceService({}, async (base) => {
    const stdout = { write: () => assert.fail('no space left') };
    await assert.rejects(main([base], { env: KEYS, stdout, stderr: stdout }), {
      name: 'AssertionError',
      message: 'no space left',
    });
  });
});

test('an address where nothing listens gives one line and exit code 2', async () => {
  const base = await withReferenceService({}, (address) => Promise.resolve(address));
  assert.deepEqual(await run([base]), {
    code: 2,
    out: '',
    err: `petstore-check: ${base} cannot be reached (no response: ECONNREFUSED): start the service, or give its address.\n`,
  });
});

test('--help goes to standard output, and needs no key', async () => {
  const { code, out, err } = await run(['--help'], { env: {} });
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^Usage: petstore-check /);
});

const OPTIONS = 'an option is wrong: there are --write, --json and --help.';
const ONE_ADDRESS = 'give one address, such as http://127.0.0.1:8080/v1; see --help.';
const NO_URL = 'the address must be a URL, such as http://127.0.0.1:8080/v1.';
const ONLY_ADDRESS = 'the address must have no user name, password, query or fragment.';

const WRONG_USAGE: { args: string[]; env?: Record<string, string>; says: string }[] = [
  { args: [], says: ONE_ADDRESS },
  { args: ['http://a/v1', 'http://b/v1'], says: ONE_ADDRESS },
  { args: ['http://a/v1'], env: {}, says: 'PETSTORE_API_KEY is not set: it must be an API key.' },
  {
    args: ['http://a/v1'],
    env: { PETSTORE_API_KEY: `${KEY} x` },
    says: 'PETSTORE_API_KEY must be visible ASCII characters without spaces.',
  },
  { args: ['127.0.0.1:8080/v1'], says: NO_URL },
  { args: ['ftp://a/v1'], says: NO_URL },
  ...['me:secret@a/v1', 'me@a/v1', ':secret@a/v1', 'a/v1?x', 'a/v1#x'].map((rest) => ({
    args: [`http://${rest}`],
    says: ONLY_ADDRESS,
  })),
  { args: ['http://a/v1', '--fast'], says: OPTIONS },
  { args: ['http://a/v1', '--key', KEY], says: OPTIONS },
  { args: ['http://a/v1', `--key=${KEY}`], says: OPTIONS },
];

for (const { args, env = KEYS, says } of WRONG_USAGE) {
  const shown = args.join(' ').replaceAll(KEY, 'KEY');
  test(`\`petstore-check ${shown}\` with ${Object.keys(env).length} keys is refused in one line without the key`, async () => {
    assert.deepEqual(await run(args, { env }), {
      code: 2,
      out: '',
      err: `petstore-check: ${says}\n`,
    });
  });
}

// What the program keeps from a terminal and from a report. test/golden/check.txt has what it prints.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, mock, test, type TestContext } from 'node:test';
import { main } from './main.ts';
import { KEY, openReferenceService } from './reference-service.test-server.ts';
import type { Report } from './report.ts';

const KEYS = { PETSTORE_API_KEY: KEY };

afterEach(() => mock.restoreAll());

async function run(args: string[], { env = {}, isTTY = false } = {}) {
  const shown = { out: '', err: '' };
  const stdout = { isTTY, write: (text: string) => (shown.out += text) };
  const stderr = { write: (text: string) => (shown.err += text) };
  const code = await main(args, { env: { ...KEYS, ...env }, stdout, stderr });
  return { code, ...shown };
}

/** For servers that do not implement the interface. */
async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

test('--json prints one document with the same fields for every clause', async () => {
  const { base } = openReferenceService({ deviation: 'trims names', animals: 25 });
  const { code, out } = await run([base, '--write', '--json']);
  assert.equal(code, 1);
  const report = JSON.parse(out) as Report;
  assert.deepEqual(Object.keys(report), ['specification', 'address', 'write', 'clauses', 'totals']);
  const details = {
    kept: [],
    broken: ['request', 'response', 'expected'],
    'not-checkable': ['why'],
  };
  for (const clause of report.clauses) {
    const fields = ['id', 'section', 'sentence', 'writes', 'verdict', ...details[clause.verdict]];
    assert.deepEqual(Object.keys(clause), fields);
  }
  assert.deepEqual(report.totals, { kept: 74, broken: 1, notCheckable: 7 });
});

test('the key is never shown, even when a service repeats it in every form it received', async (t) => {
  // All but the last character would be enough to guess it.
  const guessable = KEY.slice(0, -2);
  const basic = Buffer.from(`petstore:${KEY}`).toString('base64');
  const base = await serve(t, ({ headers: { authorization: text = '' } }, response) => {
    const seen = [text, encodeURIComponent(text), JSON.stringify(text)];
    response.writeHead(418, { 'content-type': 'text/plain' }).end(seen.join('\n'));
  });
  for (const format of [[], ['--json']]) {
    const { code, out, err } = await run([base, '--write', ...format]);
    assert.equal(code, 1, err);
    assert.ok(out.includes('(the key)'));
    for (const form of [guessable, encodeURIComponent(guessable), basic]) {
      assert.ok(!(out + err).includes(form), `${form} is shown`);
    }
  }
});

test('control characters that a service sends do not reach the terminal', async (t) => {
  const base = await serve(t, (_, response) => response.end('\u001B[2J\u202Eevil\r\n'));
  const { out } = await run([base]);
  assert.ok(out.includes(String.raw`\u{1b}[2J\u{202e}evil`));
  assert.ok(!out.includes('\u001B') && !out.includes('\u202E'));
});

test('colours are for terminals, and NO_COLOR turns them off', async () => {
  const { base } = openReferenceService({ animals: 1 });
  assert.ok((await run([base], { isTTY: true })).out.includes('\u001B[32m✓'));
  for (const plain of [{ isTTY: true, env: { NO_COLOR: '1' } }, {}]) {
    assert.ok(!(await run([base], plain)).out.includes('\u001B'));
  }
});

test('a failure to write the result is not taken for an address that cannot be reached', async () => {
  const { base } = openReferenceService({});
  const stdout = { write: () => assert.fail('no space left') };
  await assert.rejects(main([base], { env: KEYS, stdout, stderr: stdout }), {
    name: 'AssertionError',
    message: 'no space left',
  });
});

test('an address where nothing listens gives one line and exit code 2', async () => {
  assert.deepEqual(await run(['http://127.0.0.1:2/v1']), {
    code: 2,
    out: '',
    err: 'petstore-check: http://127.0.0.1:2/v1 cannot be reached (no response: ECONNREFUSED): start the service, or give its address.\n',
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { operations } from '../../src/http/operations.ts';
import { send, sqliteStorage, startTestService } from '../../harness/test-service.ts';

const FILE = new URL('../../contrib/petstore.http', import.meta.url);
const VARIABLE = /^@(\w+) = (.*)$/gm;

test('contrib/petstore.http sends each operation with its variables, and each succeeds', async (t) => {
  const service = await startTestService(sqliteStorage);
  t.after(() => service.close());
  const [head = '', ...requests] = readFileSync(FILE, 'utf8').split(/^### .*\n/m);
  const variables = new Map(
    [...head.matchAll(VARIABLE)].map(([, name = '', value = '']) => [name, value]),
  );
  assert.equal(variables.get('base'), 'http://127.0.0.1:8080/v1');
  variables.set('base', service.baseUrl).set('key', service.key);
  for (const request of requests) {
    const text = request.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => variables.get(name) ?? '');
    const [top = '', body] = text.trim().split('\n\n');
    const [line = '', ...fields] = top.split('\n');
    const [method = '', url = ''] = line.split(' ');
    const headers = Object.fromEntries(fields.map((field) => field.split(': ')));
    const response = await send(url, { method, headers, ...(body !== undefined && { body }) });
    assert.ok([200, 201].includes(response.status), `${line}: ${response.text}`);
    assert.match(response.text, /"name":"Rex"/);
  }
  const sent = requests.map((request) => request.split(' ')[0]);
  assert.deepEqual(new Set(sent), new Set(operations.map(({ method }) => method)));
});

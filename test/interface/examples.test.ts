// Every example of the OpenAPI document and of the pages at /docs, sent as it stands.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { operationsOf, type OpenApiDocument } from './openapi-document.ts';
import { DOCS } from '../../src/web/docs/contents.ts';
import {
  send,
  sqliteStorage,
  startTestService,
  type TestService,
} from '../../harness/test-service.ts';

interface Example {
  name: string;
  in: string;
  example: string | number;
}

let service: TestService;
let document: OpenApiDocument;
before(async () => {
  service = await startTestService(sqliteStorage, { logLevel: 'silent' });
  document = (await textOf('/openapi.json', JSON.parse)) as OpenApiDocument;
});
after(() => service.close());

async function textOf<Text>(path: string, read: (text: string) => Text): Promise<Text> {
  return read((await send(`${new URL(service.baseUrl).origin}${path}`)).text);
}

/** Sends the examples to an operation. A path parameter is always needed. */
async function sendExamples(
  { method, path }: { method: string; path: string },
  parameters: readonly Example[],
  body: string | undefined,
): Promise<number> {
  const of = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, example }) => [name, String(example)]);
  const target = of('path').reduce(
    (filled, [name, value]) => filled.replace(`{${name}}`, value ?? ''),
    path,
  );
  const query = new URLSearchParams(of('query')).toString();
  const headers = Object.fromEntries(of('header'));
  const sent = { method, headers, ...(body !== undefined && { body }) };
  return (await service.send(`${target}${query === '' ? '' : `?${query}`}`, sent)).status;
}

test('the examples of each operation are accepted, each alone and all together', async () => {
  // The first animal has the id of the example. Its create is repeated below.
  const operations = operationsOf(document).toSorted(
    (one, other) => Number(other.method === 'POST') - Number(one.method === 'POST'),
  );
  for (const operation of operations) {
    const { operationId, requestBody } = operation;
    const success = operationId === 'createPet' ? 201 : 200;
    const content = requestBody?.content['application/json'] as { example: unknown } | undefined;
    const body = content === undefined ? undefined : JSON.stringify(content.example);
    const examples = operation.parameters as unknown as Example[];
    const needed = examples.filter((each) => each.in === 'path');
    const optional = examples.filter((each) => each.in !== 'path');
    for (const chosen of [[], ...optional.map((each) => [each]), optional]) {
      const status = await sendExamples(operation, [...needed, ...chosen], body);
      const names = chosen.map(({ name }) => name).join(', ');
      assert.equal(status, success, `${operationId} with the examples of: ${names}`);
    }
  }
});

test('every URL in an example of the document or on a page at /docs is accepted', async () => {
  const headers = Object.values(document.components.headers).map(({ example }) => example);
  const pages = await Promise.all(DOCS.map(({ path }) => textOf(path, unescape)));
  const origin = 'http://127.0.0.1:8080/v1';
  const text = [...headers, ...pages].join('\n').replaceAll(origin, service.baseUrl);
  const urls = new Set(text.match(/http:\/\/[\d.:]+\/v1\/pets[^\s"'<>`]*/g));
  assert.ok(
    [...urls].some((url) => /cursor=(?!last)/.test(url)),
    'an example has a cursor',
  );
  for (const url of urls) {
    assert.equal((await service.send(url.replace(service.baseUrl, ''))).status, 200, url);
  }
});

function unescape(html: string): string {
  const characters: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(\w+);/g, (_, name: string) => characters[name] ?? '');
}

test('a page is compressed for a client that accepts it, and a response of the interface never is', async () => {
  const { origin } = new URL(service.baseUrl);
  for (const coding of ['br', 'gzip']) {
    const headers = { 'accept-encoding': coding, authorization: `Bearer ${service.key}` };
    const page = await fetch(`${origin}/docs`, { headers });
    assert.equal(page.headers.get('content-encoding'), coding);
    assert.equal(await page.text(), await textOf('/docs', String));
    const list = await fetch(`${service.baseUrl}/pets`, { headers });
    assert.equal(list.status, 200);
    assert.equal(list.headers.get('content-encoding'), null);
  }
});

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { RESPONSE_BYTES_MAX, Client, REQUESTS_MAX, type PetRequest } from './client.ts';

const KEY = 'key';
const LIST: PetRequest = { operation: 'listPets', path: '/pets', credential: 'key' };

/** The address of a server that responds so. */
async function serve(t: TestContext, handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** What the client makes of a body. */
async function parsed(t: TestContext, body: string | Buffer): Promise<unknown> {
  const base = await serve(t, (_, response) => response.end(body));
  return (await new Client(base, KEY).send(LIST)).body;
}

test('a request without a response within the timeout fails with NoResponse', async (t) => {
  const base = await serve(t, () => undefined);
  await assert.rejects(new Client(base, KEY, 50).send(LIST), {
    name: 'NoResponse',
    evidence: {
      request: 'GET /pets with the key',
      response: 'no response within 0.05 seconds',
    },
  });
});

test('a response of 1 MiB is read, and one that never ends is cancelled', async (t) => {
  assert.deepEqual(await parsed(t, '[]'.padEnd(RESPONSE_BYTES_MAX)), []);
  const endless = await serve(t, (_, response) => {
    const more = () => {
      while (response.write(' '.repeat(RESPONSE_BYTES_MAX / 16)));
      response.once('drain', more);
    };
    more();
  });
  await assert.rejects(new Client(endless, KEY).send(LIST), { name: 'NotCheckable' });
});

test('a redirect is not followed, so the key is sent to no other address', async (t) => {
  const paths: (string | undefined)[] = [];
  const base = await serve(t, ({ url }, response) => {
    paths.push(url);
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  assert.equal((await new Client(base, KEY).send(LIST)).status, 307);
  assert.deepEqual(paths, ['/v1/pets']);
});

test('a run sends at most REQUESTS_MAX requests, and none after its time', async (t) => {
  let requests = 0;
  t.mock.method(globalThis, 'fetch', async () => {
    requests += 1;
    return new Response('[]');
  });
  const client = new Client('http://pets.example/v1', KEY);
  for (let sent = 0; sent < REQUESTS_MAX; sent += 1) await client.send(LIST);
  await assert.rejects(client.send(LIST), {
    name: 'NotCheckable',
    message: `the check stops after ${REQUESTS_MAX} requests or 300 seconds`,
  });
  await assert.rejects(new Client('http://pets.example/v1', KEY, 1000, 0).send(LIST), {
    name: 'NotCheckable',
    message: `the check stops after ${REQUESTS_MAX} requests or 0 seconds`,
  });
  assert.equal(requests, REQUESTS_MAX);
});

test('each operation is sent and described with its method, credential and body', async (t) => {
  const seen: unknown[] = [];
  const base = await serve(t, (request, response) => {
    const { method, url, headers } = request;
    void text(request).then((body) => {
      seen.push([method, url, headers.authorization, headers.accept, body]);
      if (method === 'POST') return response.writeHead(204).end();
      return response.setHeader('content-type', 'application/json').end('[]');
    });
  });
  const requests: PetRequest[] = [
    LIST,
    { operation: 'getPet', path: '/pets/1', credential: 'none' },
    { operation: 'createPet', path: '/pets', credential: 'no token', body: '{}' },
    { operation: 'createPet', path: '/pets', credential: 'bare key', body: '' },
  ];
  const client = new Client(base, KEY);
  for (const request of requests) await client.send(request);
  const nothing = '204, no Content-Type, no body';
  assert.deepEqual(
    client.exchanges.map(({ request, response }) => [request, response]),
    [
      ['GET /pets with the key', '200, application/json, []'],
      ['GET /pets/1 without an Authorization header', '200, application/json, []'],
      ['POST /pets with the word Bearer but without a key and the body {}', nothing],
      ['POST /pets with the key but without the word Bearer without a body', nothing],
    ],
  );
  const accept = 'application/json';
  assert.deepEqual(seen, [
    ['GET', '/v1/pets', 'Bearer key', accept, ''],
    ['GET', '/v1/pets/1', undefined, accept, ''],
    ['POST', '/v1/pets', 'Bearer', accept, '{}'],
    ['POST', '/v1/pets', 'key', accept, ''],
  ]);
});

/** The brackets in the string do not count. */
const nested = (depth: number) => `${'['.repeat(depth)}"[\\"["${']'.repeat(depth)}`;

test('a body that is not UTF-8, or is nested more than 100 deep, is not parsed', async (t) => {
  assert.equal(await parsed(t, Buffer.from([0x22, 0xff, 0x22])), undefined);
  assert.notEqual(await parsed(t, nested(100)), undefined);
  assert.equal(await parsed(t, nested(101)), undefined);
  assert.equal(await parsed(t, nested(500_000)), undefined);
});

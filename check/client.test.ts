import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { RESPONSE_BYTES_MAX, Client, REQUESTS_MAX, type PetRequest } from './client.ts';
import { NoResponse, NotCheckable } from './verdict.ts';

const KEY = 'key';
const LIST: PetRequest = { operation: 'listPets', path: '/pets', credential: 'key' };

async function withServer(handle: RequestListener, use: (base: string) => Promise<void>) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const sendForever: RequestListener = (_request, response) => {
  const more = () => {
    while (response.write(' '.repeat(RESPONSE_BYTES_MAX / 16)));
    response.once('drain', more);
  };
  more();
};

const sendFull: RequestListener = (_request, response) => {
  response.end('[]'.padEnd(RESPONSE_BYTES_MAX));
};

const sendLatin1: RequestListener = (_request, response) => {
  response.end(Buffer.from([0x22, 0xff, 0x22]));
};

test('a request without a response within the timeout fails with NoResponse', async () => {
  await withServer(
    () => {},
    async (base) => {
      const client = new Client(base, KEY, 50);
      await assert.rejects(client.send(LIST), (error) => {
        assert.ok(error instanceof NoResponse);
        assert.equal(error.evidence.response, 'no response within 0.05 seconds');
        return true;
      });
    },
  );
});

test('a response that never ends is cancelled after 1 MiB', async () => {
  await withServer(sendForever, async (base) => {
    await assert.rejects(new Client(base, KEY).send(LIST), NotCheckable);
  });
});

test('a response of exactly 1 MiB is read', async () => {
  await withServer(sendFull, async (base) => {
    const exchange = await new Client(base, KEY).send(LIST);
    assert.equal(exchange.text.length, RESPONSE_BYTES_MAX);
    assert.deepEqual(exchange.body, []);
  });
});

test('a redirect is not followed, so the key is sent to no other address', async () => {
  const paths: (string | undefined)[] = [];
  const redirect: RequestListener = ({ url }, response) => {
    paths.push(url);
    response.writeHead(307, { location: '/elsewhere' }).end();
  };
  await withServer(redirect, async (base) => {
    assert.equal((await new Client(base, KEY).send(LIST)).status, 307);
    assert.deepEqual(paths, ['/v1/pets']);
  });
});

test('a run sends at most REQUESTS_MAX requests', async () => {
  let requests = 0;
  const count: RequestListener = (_request, response) => {
    requests += 1;
    response.end('[]');
  };
  await withServer(count, async (base) => {
    const client = new Client(base, KEY);
    for (let sent = 0; sent < REQUESTS_MAX; sent += 1) await client.send(LIST);
    await assert.rejects(client.send(LIST), {
      name: 'NotCheckable',
      message: `the check stops after ${REQUESTS_MAX} requests or 300 seconds`,
    });
    assert.equal(requests, REQUESTS_MAX);
  });
});

test('no request is sent after the time of the run', async () => {
  const client = new Client('http://127.0.0.1:1/v1', KEY, 1000, 0);
  await assert.rejects(client.send(LIST), {
    name: 'NotCheckable',
    message: `the check stops after ${REQUESTS_MAX} requests or 0 seconds`,
  });
});

test('each operation is sent and described with its method, credential and body', async () => {
  const seen: unknown[] = [];
  const record: RequestListener = (request, response) => {
    const { method, url, headers } = request;
    void text(request).then((body) => {
      seen.push({ method, url, key: headers.authorization, accept: headers.accept, body });
      if (method === 'POST') return response.writeHead(204).end();
      return response.setHeader('content-type', 'application/json').end('[]');
    });
  };
  const requests: PetRequest[] = [
    LIST,
    { operation: 'getPet', path: '/pets/1', credential: 'none' },
    { operation: 'createPet', path: '/pets', credential: 'no token', body: '{}' },
    { operation: 'createPet', path: '/pets', credential: 'bare key', body: '' },
  ];
  await withServer(record, async (base) => {
    const client = new Client(base, KEY);
    for (const request of requests) await client.send(request);
    const described = client.exchanges.map(({ request, response }) => [request, response]);
    assert.deepEqual(described, [
      ['GET /pets with the key', '200, application/json, []'],
      ['GET /pets/1 without an Authorization header', '200, application/json, []'],
      [
        'POST /pets with the word Bearer but without a key and the body {}',
        '204, no Content-Type, no body',
      ],
      [
        'POST /pets with the key but without the word Bearer without a body',
        '204, no Content-Type, no body',
      ],
    ]);
  });
  const accept = 'application/json';
  assert.deepEqual(seen, [
    { method: 'GET', url: '/v1/pets', key: 'Bearer key', accept, body: '' },
    { method: 'GET', url: '/v1/pets/1', key: undefined, accept, body: '' },
    { method: 'POST', url: '/v1/pets', key: 'Bearer', accept, body: '{}' },
    { method: 'POST', url: '/v1/pets', key: 'key', accept, body: '' },
  ]);
});

test('an address where nothing listens fails with the reason', async () => {
  let free = '';
  await withServer(
    () => {},
    async (base) => {
      free = base;
    },
  );
  await assert.rejects(new Client(free, KEY).send(LIST), (error) => {
    assert.ok(error instanceof NoResponse);
    assert.deepEqual(error.evidence, {
      request: 'GET /pets with the key',
      response: 'no response: ECONNREFUSED',
    });
    return true;
  });
});

test('a body that is not UTF-8 is not parsed as JSON', async () => {
  await withServer(sendLatin1, async (base) => {
    assert.equal((await new Client(base, KEY).send(LIST)).body, undefined);
  });
});

/** The brackets in the string do not count. */
const nested = (depth: number) => `${'['.repeat(depth)}"[\\"["${']'.repeat(depth)}`;

test('a body that is nested more than 100 deep is not parsed', async () => {
  for (const [depth, isParsed] of [
    [100, true],
    [101, false],
    [500_000, false],
  ] as const) {
    await withServer(
      (_request, response) => response.end(nested(depth)),
      async (base) => {
        const { body } = await new Client(base, KEY).send(LIST);
        assert.equal(body !== undefined, isParsed, String(depth));
      },
    );
  }
});

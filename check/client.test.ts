import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
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
    const { text, body } = await new Client(base, KEY).send(LIST);
    assert.equal(text.length, RESPONSE_BYTES_MAX);
    assert.deepEqual(body, []);
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

test('a body that is not UTF-8 is not parsed as JSON', async () => {
  await withServer(sendLatin1, async (base) => {
    assert.equal((await new Client(base, KEY).send(LIST)).body, undefined);
  });
});

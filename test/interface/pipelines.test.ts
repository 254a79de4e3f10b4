// Random pipelines of every kind of request, split at random places, whose responses are parsed strictly.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newRandom, type Random } from '../../harness/random.ts';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';

const PIPELINES = 900;
const SEED = 20_261_118;
const CLIENTS = 8;
const REQUESTS_MAX = 30;
const SPLITS_MAX = 12;

interface Sent {
  bytes: Buffer;
  method: string;
  status: number;
  /** What the body of the response must contain. */
  contains: string;
  /** Whether a 100 may come first. */
  mayContinue: boolean;
}

const NAMES = ['Rex', 'Mieze äöü', '猫', '\u{1F431}\u{1F431}', '"\\\n', 'ÿ'];

const whole = (head: string) => Buffer.from(`${head}\r\n`);

function of(method: string, status: number, bytes: Buffer, contains = ''): Sent {
  return { bytes, method, status, contains, mayContinue: false };
}

describe('Pipelines', () => {
  let service: TestService;
  let port: number;
  let etag: string;

  before(async () => {
    service = await startTestService(sqliteStorage);
    port = Number(new URL(service.baseUrl).port);
    etag = String((await service.send('/pets?status=sold')).headers['etag']);
  });
  after(() => service.close());

  function newRequest(random: Random, id: string): Sent {
    const fields = `Host: a\r\nAuthorization: Bearer ${service.key}\r\nX-Request-Id: ${id}\r\n`;
    const head = (line: string, more = '') => `${line} HTTP/1.1\r\n${fields}${more}`;
    const post = (text: string, more = '') => {
      const body = Buffer.from(text);
      const length = `Content-Length: ${body.length}\r\n${more}\r\n`;
      return Buffer.concat([Buffer.from(head('POST /v1/pets', length)), body]);
    };
    const name = random.pick(NAMES);
    const pet = JSON.stringify({ name, categoryId: 1 });
    const shown = JSON.stringify(name);
    return random.pick<() => Sent>([
      () => of('GET', 200, whole(head('GET /v1/pets?limit=3')), '['),
      () => of('HEAD', 200, whole(head('HEAD /v1/pets?limit=3'))),
      () => of('GET', 304, whole(head('GET /v1/pets?status=sold', `If-None-Match: ${etag}\r\n`))),
      () => of('HEAD', 404, whole(head('HEAD /v1/pets/999999999'))),
      () => of('OPTIONS', 204, whole(head('OPTIONS /v1/pets'))),
      () => of('GET', 404, whole(head('GET /v1/nothing')), 'route_not_found'),
      () => of('GET', 200, whole(head('GET /livez')), 'ok'),
      () => of('PUT', 405, whole(head('PUT /v1/pets', 'Content-Length: 0\r\n')), 'not_allowed'),
      () => of('POST', 400, post('{"name":'), 'invalid_json'),
      () => of('POST', 400, post('', 'Expect: 100-continue\r\n'), 'invalid_json'),
      () => of('POST', 201, post(pet), shown),
      () => ({
        ...of('POST', 201, post(pet, 'Expect: 100-continue\r\n'), shown),
        mayContinue: true,
      }),
      () => {
        const coded = head('POST /v1/pets', 'Transfer-Encoding: chunked\r\n\r\n');
        return of('POST', 201, Buffer.concat([Buffer.from(coded), inChunks(random, pet)]), shown);
      },
    ])();
  }

  async function runPipeline(seed: number): Promise<void> {
    const random = newRandom(seed);
    const count = 1 + random.integer(REQUESTS_MAX);
    const sent = Array.from({ length: count }, (_, index) => newRequest(random, `p${index}`));
    const endsByFin = random.integer(2) === 0;
    const last = Buffer.from('GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const bytes = Buffer.concat([...sent.map((each) => each.bytes), ...(endsByFin ? [] : [last])]);
    const received = await exchangeInPieces(port, split(random, bytes), endsByFin);
    requireResponses(received, sent, endsByFin);
  }

  test(`${PIPELINES} random pipelines get exactly their responses, in order, and each has exactly its length`, async () => {
    let next = 0;
    const client = async () => {
      while (next < PIPELINES) {
        const seed = SEED + (next += 1);
        await runPipeline(seed).catch((error: unknown) => {
          throw new Error(`seed ${seed}`, { cause: error });
        });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  });
});

function inChunks(random: Random, text: string): Buffer {
  const parts = split(random, Buffer.from(text)).flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** Splits at random places into parts that are not empty. */
function split(random: Random, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: random.integer(SPLITS_MAX) }, () =>
    random.integer(bytes.length),
  );
  const places = [...new Set([0, ...cuts, bytes.length])].toSorted((one, other) => one - other);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

async function exchangeInPieces(
  port: number,
  pieces: Buffer[],
  endsByFin: boolean,
): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const received = Array.fromAsync<Buffer>(socket);
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
  if (endsByFin) socket.end();
  const bytes = Buffer.concat(await received);
  socket.end();
  return bytes;
}

/** Reads one response after the other, as RFC 9112 says, and fails if a byte is missing or too many. */
function requireResponses(received: Buffer, sent: readonly Sent[], endsByFin: boolean): void {
  let rest = received;
  const take = (method: string) => {
    const headEnd = rest.indexOf('\r\n\r\n');
    assert.ok(headEnd >= 0, `no head in ${JSON.stringify(rest.toString('latin1').slice(0, 99))}`);
    const [line = '', ...lines] = rest.toString('latin1', 0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]+$/.exec(line)?.[1]);
    const headers = new Map<string, string>();
    for (const each of lines) {
      const [, name = '', value = ''] = /^([\w-]+): ([\x20-\x7e]*)$/.exec(each) ?? [];
      const isNew = !headers.has(name.toLowerCase());
      // A deprecated operation that fails has two: the lists of both are one.
      assert.ok(name === 'Link' || (name !== '' && isNew), `header ${each}`);
      headers.set(name.toLowerCase(), value);
    }
    const isEmpty = status < 200 || status === 204 || status === 304;
    assert.equal(headers.has('content-length'), !isEmpty, `Content-Length of ${status}`);
    const length = isEmpty || method === 'HEAD' ? 0 : Number(headers.get('content-length'));
    const start = headEnd + 4;
    assert.ok(rest.length >= start + length, 'the body is cut');
    const body = rest.subarray(start, start + length).toString();
    rest = rest.subarray(start + length);
    return { status, headers, body };
  };
  for (const [index, { method, status, contains, mayContinue }] of sent.entries()) {
    let response = take(method);
    if (mayContinue && response.status === 100) response = take(method);
    assert.equal(response.status, status, `${index}: ${method}`);
    assert.equal(response.headers.get('x-request-id'), `p${index}`);
    assert.ok(response.body.includes(contains), `${index}: ${response.body}`);
  }
  if (!endsByFin) assert.equal(take('GET').headers.get('connection'), 'close');
  assert.equal(rest.length, 0, 'bytes after the last response');
}

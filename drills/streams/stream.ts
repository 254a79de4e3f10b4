// Random streams of bytes for one connection: requests with known responses, and what no client library sends.

import { malformedRequests } from '../../harness/malformed-requests.ts';
import type { Random } from '../../harness/random.ts';

const PARTS_MAX = 20;
const HOSTILE_PARTS_MAX = 5;
const SPLITS_MAX = 12;
const MUTATIONS_MAX = 4;
const MUTATED_BYTES_MAX = 20;
const NAMES = ['Rex', 'Mieze äöü', '猫', '\u{1F431}\u{1F431}', '"\\\n', 'ÿ'];

/** An animal with this name was created by a request that was hidden in the body of another. */
export const SMUGGLED_NAME = 'smuggled';
const SMUGGLED_BODY = `{"name":"${SMUGGLED_NAME}","categoryId":1}`;

/** What is known about one request of a stream. */
export interface Part {
  bytes: Buffer;
  /** The value of its X-Request-Id header, which the service repeats in its response. */
  mark: string;
  method: string;
  /** Of the response that it must have; undefined if the request is malformed, or was changed at random. */
  status: number | undefined;
  /** What the body of that response must contain. */
  contains: string;
}

export interface Stream {
  parts: Part[];
  pieces: Buffer[];
  /** The client ends its side; otherwise the last request asks the service to close. */
  isHalfClosed: boolean;
}

/** What a client knows of a service. */
export interface Client {
  key: string;
  /** Of the list of sold animals, which stays empty. */
  etag: string;
}

/** Half of the streams have only requests with known responses. */
export function newStream(random: Random, client: Client, name: string): Stream {
  const isHostile = random.isOneIn(2);
  const count = 1 + random.integer(isHostile ? HOSTILE_PARTS_MAX : PARTS_MAX);
  const parts = Array.from({ length: count }, (_, index) => {
    // The last number makes it unlikely that a mutation turns one mark into another.
    const mark = `${name}-${index}-${random.integer(1_000_000)}`;
    const known = knownRequest(random, client, mark);
    if (!isHostile) return known;
    // Whether a response to what was HEAD has a body cannot be known.
    if (known.method === 'HEAD' || !random.isOneIn(3))
      return hostileRequest(random, client.key, known);
    return known;
  });
  const isHalfClosed = isHostile || random.isOneIn(2);
  if (!isHalfClosed) parts.push(closingRequest(`${name}-end`));
  const bytes = Buffer.concat(parts.map((part) => part.bytes));
  return { parts, pieces: split(random, bytes), isHalfClosed };
}

function closingRequest(mark: string): Part {
  const head = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${mark}\r\nConnection: close\r\n\r\n`;
  return { bytes: Buffer.from(head), mark, method: 'GET', status: 200, contains: 'ok' };
}

function knownRequest(random: Random, { key, etag }: Client, mark: string): Part {
  const of = (
    line: string,
    status: number,
    contains = '',
    more = '',
    body: Buffer = Buffer.alloc(0),
  ) => {
    const head = `${line} HTTP/1.1\r\n${fieldsOf(key, mark)}${more}\r\n`;
    const [method = ''] = line.split(' ');
    return { bytes: Buffer.concat([Buffer.from(head), body]), mark, method, status, contains };
  };
  const post = (status: number, contains: string, text: string, more = '') => {
    const body = Buffer.from(text);
    return of('POST /v1/pets', status, contains, `Content-Length: ${body.length}\r\n${more}`, body);
  };
  const pet = { name: `${random.pick(NAMES)} ${mark}`, categoryId: 1 };
  const shown = JSON.stringify(pet.name);
  const text = JSON.stringify(pet);
  const wait = 'Expect: 100-continue\r\n';
  return random.pick<() => Part>([
    () => of('GET /v1/pets?limit=3', 200, '['),
    () => of('HEAD /v1/pets?limit=3', 200),
    () => of('GET /v1/pets?status=sold', 304, '', `If-None-Match: ${etag}\r\n`),
    () => of('HEAD /v1/pets/999999999', 404),
    () => of('OPTIONS /v1/pets', 204),
    () => of('GET /v1/nothing', 404, 'route_not_found'),
    () => of('GET /livez', 200, 'ok'),
    () => of('PUT /v1/pets', 405, 'not_allowed', 'Content-Length: 0\r\n'),
    () => post(400, 'invalid_json', '{"name":'),
    () => post(400, 'invalid_json', '', wait),
    () => post(201, shown, text),
    () => post(201, shown, text, wait),
    () => of('POST /v1/pets', 201, shown, 'Transfer-Encoding: chunked\r\n', inChunks(random, text)),
  ])();
}

function fieldsOf(key: string, mark: string): string {
  return `Host: localhost\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${mark}\r\n`;
}

/** A known request with random changes, or one that is malformed by rule. */
function hostileRequest(random: Random, key: string, known: Part): Part {
  const { mark } = known;
  const unknown = { ...known, method: 'unknown', status: undefined, contains: '' };
  if (random.isOneIn(2) && known.method !== 'HEAD')
    return { ...unknown, bytes: mutate(known.bytes, random) };
  const text = random.isOneIn(4)
    ? random.pick(AMBIGUOUS)(fieldsOf(key, mark))
    : random.pick(malformedRequests)[1];
  const bytes = typeof text === 'string' ? encode(text.replaceAll('{KEY}', key)) : text;
  return { ...unknown, bytes };
}

const encode = (text: string) => Buffer.from(text, 'latin1');

/** Requests whose end two parsers may see at different places: what is hidden in the body must not be executed. */
const AMBIGUOUS: readonly ((head: string) => string)[] = [
  (head) => withHidden(head, (length) => `Transfer-Encoding: chunked\r\nContent-Length: ${length}`),
  (head) => withHidden(head, (length) => `Content-Length: ${length}\r\nTransfer-Encoding: chunked`),
  (head) =>
    withHidden(head, (length) => `Transfer-Encoding: xchunked\r\nContent-Length: ${length}`),
  (head) =>
    withHidden(head, (length) => `Transfer-Encoding : chunked\r\nContent-Length: ${length}`),
  (head) => withHidden(head, () => 'Transfer-Encoding: chunked\r\nContent-Length: 5'),
  // The body is longer than its length: what follows is the next request.
  (head) => `POST /v1/pets HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}${SMUGGLED_BODY}`,
  (head) => `POST /v1/pets HTTP/1.0\r\n${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
];

function withHidden(head: string, framing: (length: number) => string): string {
  const hidden = `POST /v1/pets HTTP/1.1\r\n${head}Content-Length: ${SMUGGLED_BODY.length}\r\n\r\n${SMUGGLED_BODY}`;
  const body = `0\r\n\r\n${hidden}`;
  return `POST /v1/pets HTTP/1.1\r\n${head}${framing(body.length)}\r\n\r\n${body}`;
}

/** Changes a few bytes at random places: removed, repeated, inserted or replaced. */
function mutate(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes;
  for (let count = random.integer(MUTATIONS_MAX) + 1; count > 0; count -= 1) {
    const at = random.integer(mutated.length);
    const end = Math.min(mutated.length, at + 1 + random.integer(MUTATED_BYTES_MAX));
    const inserted = random.pick([
      Buffer.from([random.integer(256)]),
      Buffer.from('\r\n'),
      Buffer.from([0]),
      mutated.subarray(at, end),
      Buffer.alloc(0),
    ]);
    const rest = mutated.subarray(random.isOneIn(2) ? at : end);
    mutated = Buffer.concat([mutated.subarray(0, at), inserted, rest]);
  }
  return mutated;
}

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

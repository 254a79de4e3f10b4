// Random streams of bytes for one connection: requests with known responses, and what no client library sends.

import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { ERRORS } from '../src/domain/errors.ts';
import { malformedRequests } from './malformed-requests.ts';
import type { Random } from './random.ts';

/** The service must have closed every connection by then: the request timeout is 15 s. */
const CONNECTION_MS_MAX = 40_000;
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
interface Part {
  bytes: Buffer;
  /** The value of its X-Request-Id header, which the service repeats in its response. */
  mark: string;
  method: string;
  /** Of the response that it must have; undefined if the request is malformed, or was changed at random. */
  status: number | undefined;
  /** What the body of that response must contain. */
  contains: string;
}

interface Stream {
  parts: Part[];
  pieces: Buffer[];
  /** The client ends its side; otherwise the last request asks the service to close. */
  isHalfClosed: boolean;
}

/** What a client knows of a service. */
interface Client {
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

/** Sends a stream in its pieces, and reads until the service closes. */
export async function exchange(
  port: number,
  { pieces, isHalfClosed }: Stream,
): Promise<Buffer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const received = new Promise<Buffer | undefined>((resolve) => {
    const timer = setTimeout(() => {
      resolve(undefined);
      socket.destroy();
    }, CONNECTION_MS_MAX);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The service may close while this side still sends: what has arrived counts.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
  });
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
  if (isHalfClosed) socket.end();
  return received;
}

interface Response {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: string;
}

/** The responses of a stream, and what is wrong with them. */
export function judge(
  { parts, isHalfClosed }: Stream,
  received: Buffer | undefined,
): { responses: Response[]; problems: string[] } {
  if (received === undefined) return { responses: [], problems: ['the connection stayed open'] };
  const { responses, problems } = parse(received, parts);
  let lastIndex = -1;
  for (const { status, headers, body } of responses) {
    const mark = headers.get('x-request-id');
    if (mark === undefined) problems.push(`${status} without an X-Request-Id`);
    const index = parts.findIndex((part) => part.mark === mark);
    const isHead = parts[index]?.method === 'HEAD';
    if (status >= 400 && !isHead && !isError(status, body)) problems.push(`${status} with ${body}`);
    // A request whose mark was changed, or that was not understood, has another id.
    if (index === -1) continue;
    if (index <= lastIndex) problems.push(`the response to ${mark} is out of order`);
    lastIndex = index;
  }
  const known = parts.findIndex(({ status }) => status === undefined);
  const count = known === -1 ? parts.length : known;
  for (const [index, part] of parts.slice(0, count).entries()) {
    const problem = problemOf(part, responses[index]);
    if (problem !== undefined) problems.push(problem);
  }
  if (known === -1 && responses.length > count) problems.push('there are more responses');
  if (!isHalfClosed && responses.at(-1)?.headers.get('connection') !== 'close') {
    problems.push('the last response does not close the connection');
  }
  return { responses, problems };
}

function problemOf({ mark, status, contains }: Part, response?: Response): string | undefined {
  if (response?.headers.get('x-request-id') !== mark || response.status !== status) {
    return `${mark} got ${response?.status ?? 'no response'}`;
  }
  return response.body.includes(contains) ? undefined : `${mark} got ${response.body}`;
}

/** Reads one response after the other, as RFC 9112 says, but for 100 Continue, which precedes one. */
function parse(
  received: Buffer,
  parts: readonly Part[],
): { responses: Response[]; problems: string[] } {
  const responses: Response[] = [];
  for (let rest = received; rest.length > 0;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const [line = '', ...lines] = rest.toString('latin1', 0, Math.max(0, headEnd)).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]+$/.exec(line)?.[1]);
    const fields = lines.map((each) => {
      const [, name = '', value = ''] = /^([\w-]+): ([\x20-\x7e]*)$/.exec(each) ?? [];
      return [name.toLowerCase(), value] as const;
    });
    const headers = new Map(fields);
    const isEmpty = status < 200 || status === 204 || status === 304;
    // A deprecated operation that fails has two lists of links: both are one.
    const links = fields.filter(([name]) => name === 'link').length;
    const isRight = headers.size === lines.length - Math.max(0, links - 1) && !headers.has('');
    if (Number.isNaN(status) || !isRight || headers.has('content-length') === isEmpty) {
      const shown = JSON.stringify(rest.toString('latin1').slice(0, 200));
      return { responses, problems: [`no head in ${shown}`] };
    }
    const isHead = parts.some(
      ({ method, mark }) => method === 'HEAD' && mark === headers.get('x-request-id'),
    );
    const length = isEmpty || isHead ? 0 : Number(headers.get('content-length'));
    const end = headEnd + 4 + length;
    if (rest.length < end) return { responses, problems: ['a body is cut'] };
    const body = rest.toString('utf8', headEnd + 4, end);
    if (status >= 200) responses.push({ status, headers, body });
    rest = rest.subarray(end);
  }
  return { responses, problems: [] };
}

function isError(status: number, body: string): boolean {
  try {
    const error = JSON.parse(body) as Record<string, unknown>;
    return (
      Object.keys(error).toSorted().join() === 'code,message,status' &&
      error['status'] === status &&
      typeof error['message'] === 'string' &&
      Object.hasOwn(ERRORS, String(error['code']))
    );
  } catch {
    return false;
  }
}

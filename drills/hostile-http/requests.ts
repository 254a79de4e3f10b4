// Requests that no client library sends: malformed by rule, and good ones with random changes.

import { malformedRequests } from '../../harness/malformed-requests.ts';
import type { Random } from '../../harness/random.ts';

const MUTATIONS_MAX = 4;
const MUTATED_BYTES_MAX = 20;

/** One request as bytes, and what is known about it. */
export interface HostileRequest {
  bytes: Buffer;
  /** The value of its X-Request-Id header, which the service repeats in its response. */
  mark: string;
  /** The name of the animal that the request would create. */
  name: string | undefined;
  /** Whether it is sent without a change: it must succeed unless an earlier request closed the connection. */
  isGood: boolean;
}

/** An animal with this name was created by a request that was hidden in the body of another. */
export const SMUGGLED_NAME = 'smuggled';
const SMUGGLED_BODY = `{"name":"${SMUGGLED_NAME}","categoryId":1}`;

/** A third of the requests are good, a third are good ones with random changes, and the others are malformed. */
export function newRequest(random: Random, key: string, mark: string): HostileRequest {
  const name = random.isOneIn(2) ? `animal-${mark}` : undefined;
  const good = goodRequest(key, mark, name);
  if (random.isOneIn(3)) return { bytes: encode(good), mark, name, isGood: true };
  if (random.isOneIn(2)) {
    return { bytes: mutate(encode(good), random), mark, name, isGood: false };
  }
  const text = random.isOneIn(4)
    ? random.pick(AMBIGUOUS)(goodHead(key, mark))
    : random.pick(malformedRequests)[1];
  const bytes = typeof text === 'string' ? encode(text.replaceAll('{KEY}', key)) : text;
  return { bytes, mark, name: undefined, isGood: false };
}

const encode = (text: string) => Buffer.from(text, 'latin1');

function goodHead(key: string, mark: string): string {
  return `Host: localhost\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${mark}\r\n`;
}

function goodRequest(key: string, mark: string, name: string | undefined): string {
  const head = goodHead(key, mark);
  if (name === undefined) return `GET /v1/pets?limit=1 HTTP/1.1\r\n${head}\r\n`;
  const body = JSON.stringify({ name, categoryId: 1 });
  return `POST /v1/pets HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

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

// Requests that no client library sends: malformed by rule, and good ones with random changes.

import type { Random } from '../random.ts';
import { mutate } from './mutate.ts';

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

interface Parts {
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  body: string;
}

/** Changes the parts of a request, or returns the whole text to send instead. */
type Rule = (parts: Parts, random: Random) => string | undefined;

export function newRequest(random: Random, key: string, mark: string): HostileRequest {
  const isCreate = random.isOneIn(2);
  const name = isCreate ? `animal-${mark}` : undefined;
  const parts = goodParts(key, mark, name);
  if (random.isOneIn(3)) return { bytes: encode(write(parts)), mark, name, isGood: true };
  if (random.isOneIn(2)) {
    return { bytes: mutate(encode(write(parts)), random), mark, name, isGood: false };
  }
  const text = random.pick(RULES)(parts, random) ?? write(parts);
  return { bytes: encode(text), mark, name, isGood: false };
}

function goodParts(key: string, mark: string, name: string | undefined): Parts {
  const headers: [string, string][] = [
    ['Host', 'localhost'],
    ['Authorization', `Bearer ${key}`],
    ['X-Request-Id', mark],
  ];
  if (name === undefined) {
    return { method: 'GET', target: '/v1/pets?limit=1', version: 'HTTP/1.1', headers, body: '' };
  }
  const body = JSON.stringify({ name, categoryId: 1 });
  headers.push(['Content-Type', 'application/json'], ['Content-Length', String(body.length)]);
  return { method: 'POST', target: '/v1/pets', version: 'HTTP/1.1', headers, body };
}

function write({ method, target, version, headers, body }: Parts): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} ${version}\r\n${lines.join('')}\r\n${body}`;
}

const encode = (text: string) => Buffer.from(text, 'latin1');

function without(parts: Parts, name: string): Parts['headers'] {
  return parts.headers.filter(([each]) => each !== name);
}

/** A rule that adds one of these header lines. */
function add(...lines: [name: string, value: string][]): Rule {
  return (parts, random) => {
    parts.headers.push(random.pick(lines));
    return undefined;
  };
}

/** A rule that replaces one of the headers, or removes it if the value is undefined. */
function replace(name: string, ...values: (string | undefined)[]): Rule {
  return (parts, random) => {
    parts.headers = without(parts, name);
    const value = random.pick(values);
    if (value !== undefined) parts.headers.push([name, value]);
    return undefined;
  };
}

/** A rule that sends the body in chunks, written as given. `{BODY}` and `{SIZE}` stand for the body. */
function chunked(...bodies: string[]): Rule {
  return (parts, random) => {
    parts.headers = without(parts, 'Content-Length');
    parts.headers.push(['Transfer-Encoding', 'chunked']);
    const size = parts.body.length.toString(16);
    parts.body = random.pick(bodies).replace('{BODY}', parts.body).replace('{SIZE}', size);
    return undefined;
  };
}

function withTarget(...targets: string[]): Rule {
  return (parts, random) => {
    parts.target = random.pick(targets);
    return undefined;
  };
}

function rewrite(change: (whole: string, random: Random) => string): Rule {
  return (parts, random) => change(write(parts), random);
}

/** An animal with this name was created by a request that was hidden in the body of another. */
export const SMUGGLED_NAME = 'smuggled';

const SMUGGLED = 'POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';

const RULES: readonly Rule[] = [
  // Framing: two lengths, or a length that two parsers could read differently.
  add(['Content-Length', '0'], ['Content-Length', '7'], ['Content-Length', '31']),
  add(['Transfer-Encoding', 'chunked'], ['Transfer-Encoding', 'identity']),
  add(['Transfer-Encoding', 'chunked, chunked'], ['Transfer-Encoding', 'xchunked']),
  add(['Transfer-Encoding', 'gzip, chunked'], ['Transfer-Encoding', '\tchunked']),
  add(['Transfer-Encoding ', 'chunked'], ['Transfer-Encoding\u000b', 'chunked']),
  replace('Content-Length', '-1', '+5', '0x5', '5, 5', '5,6', '1e1', '', ' ', '5 5'),
  replace('Content-Length', '99999999999999999999', '18446744073709551617', undefined),
  replace('Content-Length', '65537', '4294967297', '00031', '31;', '"31"'),
  chunked('{SIZE}\r\n{BODY}\r\n0\r\n\r\n', '{SIZE};x=y\r\n{BODY}\r\n0\r\n\r\n'),
  chunked('{SIZE}\r\n{BODY}0\r\n\r\n', '{SIZE}\n{BODY}\n0\n\n', '{SIZE} \r\n{BODY}\r\n0\r\n\r\n'),
  chunked(
    '0x5\r\nabcde\r\n0\r\n\r\n',
    '-1\r\na\r\n0\r\n\r\n',
    'FFFFFFFFFFFFFFFFF\r\na\r\n0\r\n\r\n',
  ),
  chunked('\r\n{BODY}\r\n0\r\n\r\n', 'g\r\n{BODY}\r\n0\r\n\r\n', `0\r\n\r\n${SMUGGLED}`),
  chunked(
    `{SIZE}\r\n{BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`,
    `{SIZE}\r\n{BODY}\r\n0\r\nX: y\r\n\r\n`,
  ),
  chunked(
    `{SIZE};${'x'.repeat(20_000)}\r\n{BODY}\r\n0\r\n\r\n`,
    '{SIZE}\r\n{BODY}\r\n00000\r\n\r\n',
  ),
  // A length and chunks at once: a server that believes the wrong one of them executes what is in the body.
  (parts) => {
    const hidden = write({
      ...parts,
      method: 'POST',
      body: `{"name":"${SMUGGLED_NAME}","categoryId":1}`,
    });
    parts.method = 'POST';
    parts.headers = [...without(parts, 'Content-Length'), ['Transfer-Encoding', 'chunked']];
    parts.body = `0\r\n\r\n${hidden}`;
    parts.headers.push(['Content-Length', String(parts.body.length)]);
    return undefined;
  },
  // White space and line ends.
  rewrite((whole) => whole.replaceAll('\r\n', '\n')),
  rewrite((whole) => whole.replace('\r\n', '\n')),
  rewrite((whole) => whole.replace('\r\n', '\r')),
  rewrite((whole) => whole.replace(': ', ' : ')),
  rewrite((whole) => whole.replace('\r\nAuthorization', '\r\n Authorization')),
  rewrite((whole) => whole.replace('\r\nAuthorization', '\r\n\tfolded\r\nAuthorization')),
  rewrite((whole) => `\r\n\r\n${whole}`),
  rewrite((whole) => ` ${whole}`),
  rewrite((whole) => whole.replace(' ', '  ')),
  rewrite((whole) => whole.replace(' HTTP', '\tHTTP')),
  // Control characters and bytes above ASCII.
  add(['X-A', 'a\u0000b'], ['X-A', 'a\rb'], ['X-A', '\u007f'], ['X-A', '\u0001']),
  add(['X\u0000A', 'a'], ['X A', 'a'], ['', 'a'], ['X-Ä', 'a'], ['X-A', 'äöü'], ['(X)', 'a']),
  rewrite((whole, random) => whole.replace('HTTP', String.fromCharCode(random.integer(256)))),
  // Sizes.
  add(['X-Long', 'x'.repeat(20_000)], ['X-Long', 'x'.repeat(70_000)], ['x'.repeat(20_000), 'x']),
  (parts) => {
    for (let count = 0; count < 3_000; count += 1) parts.headers.push([`X-${count}`, 'a']);
    return undefined;
  },
  withTarget(
    `/v1/pets?${'a'.repeat(9_000)}`,
    `/${'a'.repeat(70_000)}`,
    `/v1/pets?${'a&'.repeat(4_000)}`,
  ),
  // Targets of other forms.
  withTarget(
    '*',
    '',
    'v1/pets',
    '//v1/pets',
    'http://localhost/v1/pets?limit=1',
    'https://a:b@c/v1/pets',
  ),
  withTarget(
    '/v1/pets?limit=%',
    '/v1/pets?limit=%00',
    '/v1/%70ets',
    '/v1/pets/../pets',
    '/v1/pets#a',
  ),
  withTarget(
    '/v1/pets?limit=1?limit=2',
    '/v1/pets/%2e%2e',
    '/v1/pets/1%0d%0aX:%20y',
    '/v1/pets;a=b',
  ),
  withTarget('localhost:80', 'http://', 'http://[::1', '/v1/pets/\u0080', '/v1/pets?status=\u00ff'),
  (parts, random) => {
    parts.method = random.pick([
      'CONNECT',
      'OPTIONS',
      'TRACE',
      'get',
      'GE T',
      'G\u0000T',
      'PRI',
      'X'.repeat(99),
    ]);
    return undefined;
  },
  (parts, random) => {
    parts.version = random.pick([
      'HTTP/1.0',
      'HTTP/0.9',
      'HTTP/2.0',
      'HTTP/1.2',
      'HTTP/1',
      'http/1.1',
      'HTTP/11',
      '',
    ]);
    return undefined;
  },
  rewrite(() => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  rewrite(() => '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'),
  // Headers with a meaning for the connection.
  replace('Host', undefined, '', 'a b', 'a,b', 'a/b', '[::1', 'a@b', 'ä', 'a:99999'),
  add(['Host', 'other'], ['Host', 'localhost']),
  add(['Expect', '100-continue'], ['Expect', '200-ok'], ['Expect', '']),
  add(['Upgrade', 'websocket'], ['Upgrade', 'h2c'], ['Upgrade', '']),
  add(['Connection', 'close'], ['Connection', 'upgrade'], ['Connection', 'x-request-id, close, ,']),
  add(['Authorization', 'Bearer x'], ['X-Request-Id', 'a b'], ['Trailer', 'Content-Length']),
  add(['Content-Encoding', 'gzip'], ['Content-Type', 'text/plain'], ['Prefer', 'handling=strict']),
  add(['If-None-Match', '*'], ['Idempotency-Key', 'ä'], ['Range', 'bytes=0-0']),
  // A body that is not what was announced.
  (parts) => {
    parts.body = parts.body.slice(0, -5);
    return undefined;
  },
  (parts) => {
    parts.body += SMUGGLED;
    return undefined;
  },
];

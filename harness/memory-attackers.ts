// Clients that make the service use memory, in a process of their own. All connect first and then send at once.
// Prints one line when everything is written or the connections are closed, and keeps the connections open.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { newSecret } from '../src/domain/api-key.ts';

/** Real attackers use other machines, so these must not take the processor from the service. */
const PRIORITY = 19;
const CONNECT_AT_ONCE = 50;
const CHUNKS = 60_000;
const BODY_BYTES = 60_000;
const PIPELINED_BYTES = 200_000;
const HEADERS = 195;

const [attack = '', port = '', count = '', key = ''] = process.argv.slice(2);
setPriority(PRIORITY);

function head(line: string, ...more: string[]): string {
  return [`${line} HTTP/1.1`, 'Host: a', ...more, '', ''].join('\r\n');
}

const authorization = (secret: string) => `Authorization: Bearer ${secret}`;
const chunked = 'Transfer-Encoding: chunked';
const chunks = '1\r\nx\r\n'.repeat(CHUNKS);
const many = Array.from({ length: HEADERS }, (_, index) => `a${index}:`);

/** What each attacker sends. None of the bodies is ever complete. */
const ATTACKS: Record<string, () => string> = {
  idle: () => '',
  'chunks with a key': () => head('POST /v1/pets', authorization(key), chunked) + chunks,
  'chunks without a key': () => head('POST /v1/pets', chunked) + chunks,
  'chunks behind a page': () => head('GET /docs') + head('POST /v1/pets', chunked) + chunks,
  'chunks with an invented key': () =>
    head('POST /v1/pets', authorization(newSecret('production', randomBytes)), chunked) + chunks,
  'long bodies': () =>
    head('POST /v1/pets', authorization(key), `Content-Length: ${BODY_BYTES + 1}`) +
    ' '.repeat(BODY_BYTES),
  'pipelined requests': () => repeated(head('GET /')),
  'pipelined headers': () => repeated(head('GET /', ...many)),
  'unread pages': () => repeated(head('GET /openapi.json')),
};

function repeated(request: string): string {
  return request.repeat(Math.ceil(PIPELINED_BYTES / request.length));
}

const kinds = attack === 'mix' ? Object.keys(ATTACKS) : [attack];
const fixed = new Map(kinds.map((kind) => [kind, Buffer.from(ATTACKS[kind]?.() ?? '')]));
const sockets: Socket[] = [];
while (sockets.length < Number(count)) {
  const missing = Math.min(CONNECT_AT_ONCE, Number(count) - sockets.length);
  sockets.push(...(await Promise.all(Array.from({ length: missing }, connected))));
}
process.stdout.write('connected\n');
await once(process.stdin, 'data');
await Promise.all(sockets.map((socket, index) => sent(socket, kinds[index % kinds.length] ?? '')));
process.stdout.write('sent\n');

async function connected(): Promise<Socket> {
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  socket.on('error', () => socket.destroy());
  return socket.pause();
}

/** Resolves when the system has taken all bytes, or the service has closed the connection. */
function sent(socket: Socket, kind: string): Promise<unknown> {
  const isInvented = kind === 'chunks with an invented key';
  const bytes = isInvented ? Buffer.from(ATTACKS[kind]?.() ?? '') : (fixed.get(kind) ?? '');
  return new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(bytes, resolve);
  });
}

// Clients that waste the time and memory of the service, in a process of their own, so that legal clients do not wait
// for them. `node attackers.ts ATTACK PORT COUNT KEY` prints one line when all have connected or are done. Those that
// cost memory then wait for a line, send all at once, and print another line when the system has taken their bytes or
// the service has closed the connections.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../src/domain/api-key.ts';

/** Real attackers use other machines, so these must not take the processor from the service. */
const PRIORITY = 19;
/**
 * About 1,000 connections per second. All at once (3,000 per second) they would only show how fast node:http
 * accepts connections: a bare server then stops for 5 to 18 ms to free the memory of those that are closed.
 */
const CONNECT_AT_ONCE = 10;
const CONNECT_PAUSE_MS = 10;
/** Clients that never read send 5,000 valid lists per second: all at once, they would only show how fast lists are. */
const NEVER_READ_AT_ONCE = 5;
const NEVER_READ_PAUSE_MS = 50;
const DRIP_MS = 1_000;
const ABORT_MS_MAX = 5;
const PIPELINED = 50;
/** Of those that cost memory. */
const MEMORY_AT_ONCE = 50;
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
const inventedKey = () => authorization(newSecret('production', randomBytes));
const LIST = 'GET /v1/pets?limit=100';
const CREATE = 'POST /v1/pets';

const SLOW: Record<string, () => Promise<void>> = {
  drip: () => open(drip),
  abort: () => open(abort),
  'never-read': () => open(neverRead, NEVER_READ_AT_ONCE, NEVER_READ_PAUSE_MS),
  forge: () => open(forge),
};

const chunked = 'Transfer-Encoding: chunked';
const chunks = '1\r\nx\r\n'.repeat(CHUNKS);
const many = Array.from({ length: HEADERS }, (_, index) => `a${index}:`);

/** What each attacker of the memory sends. None of the bodies is ever complete. */
const GREEDY: Record<string, () => string> = {
  idle: () => '',
  'chunks with a key': () => head(CREATE, authorization(key), chunked) + chunks,
  'chunks without a key': () => head(CREATE, chunked) + chunks,
  'chunks behind a page': () => head('GET /docs') + head(CREATE, chunked) + chunks,
  'chunks with an invented key': () => head(CREATE, inventedKey(), chunked) + chunks,
  'long bodies': () =>
    head(CREATE, authorization(key), `Content-Length: ${BODY_BYTES + 1}`) + ' '.repeat(BODY_BYTES),
  'pipelined requests': () => repeated(head('GET /')),
  'pipelined headers': () => repeated(head('GET /', ...many)),
  'unread pages': () => repeated(head('GET /openapi.json')),
};

await (SLOW[attack] ?? sendAtOnce)();
process.stdout.write('ready\n');

/** Opens all sockets, a few at a time, so that none is refused because too many wait to be accepted. */
async function open(
  use: (socket: Socket, index: number) => void,
  atOnce = CONNECT_AT_ONCE,
  pauseMs = CONNECT_PAUSE_MS,
): Promise<void> {
  for (let index = 0; index < Number(count); index += atOnce) {
    await sleep(pauseMs);
    const batch = Math.min(atOnce, Number(count) - index);
    await Promise.all(
      Array.from({ length: batch }, async (_, at) => use(await connected(), index + at)),
    );
  }
}

async function connected(): Promise<Socket> {
  const socket = connect({
    port: Number(port),
    host: '127.0.0.1',
    allowHalfOpen: !(attack in SLOW),
  });
  await once(socket, 'connect');
  // The service closes these connections, some of them with a reset.
  socket.on('error', () => socket.destroy());
  return socket;
}

/** Sends one byte per second: half of the sockets of a head, the others of a body. */
function drip(socket: Socket, index: number): void {
  const isBody = index % 2 === 1;
  if (isBody) socket.write(head(CREATE, authorization(key), `Content-Length: ${BODY_BYTES}`));
  const rest = head(LIST, authorization(key));
  let sent = 0;
  const timer = setInterval(() => socket.write(isBody ? ' ' : (rest[sent++] ?? 'x')), DRIP_MS);
  socket.resume().on('close', () => clearInterval(timer));
}

/** Sends a part of a body, and closes the connection a few milliseconds later. */
function abort(socket: Socket): void {
  socket.write(head(CREATE, authorization(key), `Content-Length: ${BODY_BYTES}`));
  socket.write(Buffer.alloc(Math.floor(Math.random() * BODY_BYTES), 'x'));
  setTimeout(() => socket.destroy(), Math.random() * ABORT_MS_MAX);
}

function neverRead(socket: Socket): void {
  socket.pause();
  // A paused socket does not keep the process alive, whose end would close it.
  const timer = setInterval(() => undefined, DRIP_MS);
  socket.on('close', () => clearInterval(timer));
  socket.write(head(LIST, authorization(key)).repeat(PIPELINED));
}

/** Sends well-formed keys that do not exist, as fast as the responses arrive. */
function forge(socket: Socket): void {
  let unanswered = 0;
  const sendMore = () => {
    let requests = '';
    for (; unanswered < PIPELINED; unanswered += 1) requests += head(LIST, inventedKey());
    socket.write(requests);
  };
  socket.on('data', (chunk) => {
    unanswered -= chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
    if (unanswered < PIPELINED / 2) sendMore();
  });
  sendMore();
}

async function sendAtOnce(): Promise<void> {
  const kinds = attack === 'mix' ? Object.keys(GREEDY) : [attack];
  const sockets: Socket[] = [];
  await open((socket) => sockets.push(socket.pause()), MEMORY_AT_ONCE, 0);
  process.stdout.write('connected\n');
  await once(process.stdin, 'data');
  const fixed = new Map(kinds.map((kind) => [kind, Buffer.from(GREEDY[kind]?.() ?? '')]));
  await Promise.all(
    sockets.map((socket, index) => {
      const kind = kinds[index % kinds.length] ?? '';
      const isInvented = kind === 'chunks with an invented key';
      return written(socket, isInvented ? Buffer.from(GREEDY[kind]?.() ?? '') : fixed.get(kind));
    }),
  );
}

/** Resolves when the system has taken all bytes, or the service has closed the connection. */
function written(socket: Socket, bytes = Buffer.alloc(0)): Promise<unknown> {
  return new Promise((resolve) => {
    socket.once('close', resolve);
    socket.write(bytes, resolve);
  });
}

function repeated(request: string): string {
  return request.repeat(Math.ceil(PIPELINED_BYTES / request.length));
}

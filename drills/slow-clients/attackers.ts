// Clients that waste the time and memory of the service, in a process of their own: the legal clients of the drill
// must not wait for them. Prints one line when all have connected or are done.

import { randomBytes } from 'node:crypto';
import { setPriority } from 'node:os';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';

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
const BODY_BYTES = 60_000;
const ABORT_MS_MAX = 5;
const PIPELINED = 50;

const [attack = '', port = '', count = '', key = ''] = process.argv.slice(2);
setPriority(PRIORITY);
const attacks: Record<string, () => Promise<void>> = {
  drip: () => open(drip),
  abort: () => open(abort),
  'never-read': () => open(neverRead, NEVER_READ_AT_ONCE, NEVER_READ_PAUSE_MS),
  forge: () => open(forge),
};
await attacks[attack]?.();
process.stdout.write('ready\n');

function head(method: string, secret: string, ...more: string[]): string {
  const first = `${method} /v1/pets?limit=100 HTTP/1.1`;
  return [first, 'Host: a', `Authorization: Bearer ${secret}`, ...more, '', ''].join('\r\n');
}

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

function connected(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.off('error', reject);
      // The service closes these connections, some of them with a reset.
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** Sends one byte per second: half of the sockets of a head, the others of a body. */
function drip(socket: Socket, index: number): void {
  const isBody = index % 2 === 1;
  if (isBody) socket.write(head('POST', key, `Content-Length: ${BODY_BYTES}`));
  const rest = head('GET', key);
  let sent = 0;
  const timer = setInterval(() => socket.write(isBody ? ' ' : (rest[sent++] ?? 'x')), DRIP_MS);
  socket.resume().on('close', () => clearInterval(timer));
}

/** Sends a part of a body, and closes the connection a few milliseconds later. */
function abort(socket: Socket): void {
  socket.write(head('POST', key, `Content-Length: ${BODY_BYTES}`));
  socket.write(Buffer.alloc(Math.floor(Math.random() * BODY_BYTES), 'x'));
  setTimeout(() => socket.destroy(), Math.random() * ABORT_MS_MAX);
}

function neverRead(socket: Socket): void {
  socket.pause();
  // A paused socket does not keep the process alive, whose end would close it.
  const timer = setInterval(() => undefined, DRIP_MS);
  socket.on('close', () => clearInterval(timer));
  socket.write(head('GET', key).repeat(PIPELINED));
}

/** Sends well-formed keys that do not exist, as fast as the responses arrive. */
function forge(socket: Socket): void {
  let unanswered = 0;
  const sendMore = () => {
    let requests = '';
    for (; unanswered < PIPELINED; unanswered += 1) {
      requests += head('GET', newSecret('production', randomBytes));
    }
    socket.write(requests);
  };
  socket.on('data', (chunk) => {
    unanswered -= chunk.toString('latin1').split('HTTP/1.1 ').length - 1;
    if (unanswered < PIPELINED / 2) sendMore();
  });
  sendMore();
}

// A bare `node:http` server, in a process of its own. It gets the same requests as the service at the same moment, so
// that a drill can tell a slow service from a slow machine.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** About as long as a page of the drills. */
const BODY = `[${'{"id":1,"name":"Rex","categoryId":1,"status":"available"},'.repeat(20).slice(0, -1)}]`;

/** Starts the server, and stops it with the stack. Returns its port. */
export async function startBareServer(stack: AsyncDisposableStack): Promise<number> {
  const child = fork(import.meta.filename);
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  stack.defer(async () => {
    process.removeListener('exit', kill);
    kill();
  });
  const [port] = (await once(child, 'message')) as [number];
  return port;
}

if (process.argv[1] === import.meta.filename) {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': BODY.length };
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, headers).end(BODY));
  });
  // Its connections stay open while it gets no requests.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

// A server that does nothing but respond. It runs in a thread of its own.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** Starts the server in a thread, and stops it with the stack. Returns its port. */
export async function startBareServer(stack: AsyncDisposableStack): Promise<number> {
  const thread = new Worker(new URL(import.meta.url));
  stack.defer(async () => void (await thread.terminate()));
  const [port] = (await once(thread, 'message')) as [number];
  return port;
}

if (!isMainThread) {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'Content-Length': 2 }).end('{}'));
  });
  // Its connections stay open while it gets no requests.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () =>
    parentPort?.postMessage((server.address() as AddressInfo).port),
  );
}

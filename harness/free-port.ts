import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const listener = await listenOn(0);
  const { port } = listener.address() as AddressInfo;
  await close(listener);
  return port;
}

/** The first of two ports that follow each other, and that nobody listens on now. */
export async function freePortOfTwo(): Promise<number> {
  for (;;) {
    const port = await freePort();
    try {
      await close(await listenOn(port + 1));
      return port;
    } catch {
      // Another program has the second one.
    }
  }
}

async function listenOn(port: number): Promise<Server> {
  const listener = createServer().listen(port, '127.0.0.1');
  await once(listener, 'listening');
  return listener;
}

function close(listener: Server): Promise<unknown> {
  return new Promise((resolve) => {
    listener.close(resolve);
  });
}

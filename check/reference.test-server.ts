import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Shop, type ShopOptions } from './shop.test-server.ts';

export { KEY } from './shop.test-server.ts';

export interface ReferenceServer {
  base: string;
  /** The method of every request that came in. */
  methods: string[];
  close: () => Promise<void>;
}

/** Opens a shop in memory, on a free port of this machine. */
export async function openReferenceServer(options: ShopOptions): Promise<ReferenceServer> {
  const shop = new Shop(options);
  const methods: string[] = [];
  const server = createServer((request, response) => {
    methods.push(request.method ?? '');
    void shop.handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}${shop.prefix}`,
    methods,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

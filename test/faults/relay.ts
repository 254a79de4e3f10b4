import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A connection on which a proxy passed on a request of a client. */
export interface Relayed {
  openedMs: number;
  endedMs?: number;
  endedBy?: 'proxy' | 'service' | 'relay';
}

/** Passes bytes between a proxy and a service, and records requests and closed connections. */
export class Relay {
  /** How many of the next requests get no response, because the relay closes their connection. */
  cutting = 0;
  /** The heads of the requests, without the requests of a proxy to /readyz. */
  readonly heads: string[] = [];
  readonly connections = new Set<Relayed>();
  readonly #servicePort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(servicePort: number) {
    this.#servicePort = servicePort;
    this.#server = createServer((socket) => this.#connect(socket));
  }

  static async open(servicePort: number): Promise<Relay> {
    const relay = new Relay(servicePort);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #connect(proxy: Socket): void {
    const relayed: Relayed = { openedMs: performance.now() };
    const service = connect(this.#servicePort, '127.0.0.1');
    const end = (by: NonNullable<Relayed['endedBy']>) => {
      relayed.endedBy ??= by;
      relayed.endedMs ??= performance.now();
      for (const socket of [proxy, service]) {
        this.#sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const [socket, by] of [
      [proxy, 'proxy'],
      [service, 'service'],
    ] as const) {
      this.#sockets.add(socket);
      for (const event of ['end', 'error', 'close']) socket.on(event, () => end(by));
    }
    service.on('data', (chunk) => proxy.write(chunk));
    proxy.on('data', (chunk: Buffer) => {
      if (this.#isPassedOn(chunk, relayed)) service.write(chunk);
      else end('relay');
    });
  }

  #isPassedOn(chunk: Buffer, relayed: Relayed): boolean {
    const head = findHead(chunk);
    if (head === undefined || head.includes(' /readyz ')) return true;
    this.heads.push(head);
    this.connections.add(relayed);
    if (this.cutting === 0) return true;
    this.cutting -= 1;
    return false;
  }
}

function findHead(chunk: Buffer): string | undefined {
  return /^[A-Z]+ \S+ HTTP\/1\.1\r\n.*?(?=\r\n\r\n)/s.exec(chunk.toString('latin1'))?.[0];
}

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Looks at what is sent. If it returns false, the connection ends instead. */
type Look = (chunk: Buffer) => boolean;

/** One connection through the link. */
export interface Linked {
  isRequestPassed: Look;
  isResponsePassed: Look;
  /** Which side has ended it first. */
  onEnd: (by: 'client' | 'server' | 'link') => void;
}

/** Of the server; as a function, of the server of the next connection. */
type Port = number | (() => number);
const portOf = (port: Port) => (typeof port === 'number' ? port : port());

const PASSED: Linked = {
  isRequestPassed: () => true,
  isResponsePassed: () => true,
  onEnd: () => undefined,
};

/** Passes bytes between clients and a server on this machine, and can be cut, as a network can. */
export class Link implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The servers' sides of the connections that end with their next response. */
  readonly #losing = new Set<Socket>();
  #isCut = false;

  private constructor(port: Port, onConnect: () => Partial<Linked>) {
    this.#server = createServer((client) => {
      if (this.#isCut) client.destroy();
      else this.#join(client, connect(portOf(port), '127.0.0.1'), { ...PASSED, ...onConnect() });
    });
  }

  static async open(port: Port, onConnect: () => Partial<Linked> = () => PASSED): Promise<Link> {
    const link = new Link(port, onConnect);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends all connections, and refuses new ones until it is mended. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Each open connection ends instead of its next response: what was sent was carried out, and nobody says so. */
  loseResponses(): void {
    for (const socket of this.#sockets) this.#losing.add(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #join(client: Socket, server: Socket, linked: Linked): void {
    const end = (by: Parameters<Linked['onEnd']>[0]) => {
      linked.onEnd(by);
      for (const socket of [client, server]) {
        socket.destroy();
        this.#sockets.delete(socket);
        this.#losing.delete(socket);
      }
    };
    for (const [socket, by] of [
      [client, 'client'],
      [server, 'server'],
    ] as const) {
      this.#sockets.add(socket);
      for (const event of ['end', 'error', 'close']) socket.on(event, () => end(by));
    }
    client.on('data', (chunk: Buffer) => {
      if (linked.isRequestPassed(chunk)) server.write(chunk);
      else end('link');
    });
    server.on('data', (chunk: Buffer) => {
      if (!this.#losing.has(server) && linked.isResponsePassed(chunk)) client.write(chunk);
      else end('link');
    });
  }
}

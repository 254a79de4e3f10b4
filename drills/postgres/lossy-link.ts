import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Passes bytes between the service and PostgreSQL, and can lose what PostgreSQL responds. */
export class LossyLink implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The sessions that end with their next response. */
  readonly #losing = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((client) => this.#join(client, connect(port, '127.0.0.1')));
  }

  static async open(port: number): Promise<LossyLink> {
    const link = new LossyLink(port);
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Each open session ends instead of its next response: what was sent was carried out, and nobody says so. */
  loseResponses(): void {
    for (const socket of this.#sockets) this.#losing.add(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(client: Socket, session: Socket): void {
    const end = () => {
      for (const socket of [client, session]) {
        socket.destroy();
        this.#sockets.delete(socket);
        this.#losing.delete(socket);
      }
    };
    for (const socket of [client, session]) {
      this.#sockets.add(socket);
      for (const event of ['end', 'error', 'close']) socket.on(event, end);
    }
    client.on('data', (chunk) => session.write(chunk));
    session.on('data', (chunk) => {
      if (this.#losing.has(session)) end();
      else client.write(chunk);
    });
  }
}

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Passes bytes between a browser and a service until it is cut, as a network does. */
export class CuttableLink {
  /** How many requests to add an animal were passed on. */
  posts = 0;
  /** The response to the post with this number is lost: the service has it, the browser does not. */
  losing: number | undefined;
  isCut = false;
  readonly #servicePort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(servicePort: number) {
    this.#servicePort = servicePort;
    this.#server = createServer((browser) => this.#join(browser));
  }

  static async open(site: string): Promise<CuttableLink> {
    const link = new CuttableLink(Number(new URL(site).port));
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get site(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on every connection is refused, until it is mended. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #join(browser: Socket): void {
    if (this.isCut) {
      browser.destroy();
      return;
    }
    const service = connect(this.#servicePort, '127.0.0.1');
    for (const [socket, other] of [
      [browser, service],
      [service, browser],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    browser.on('data', (chunk: Buffer) => {
      if (chunk.includes('POST /v1/pets HTTP/1.1')) this.posts += 1;
      service.write(chunk);
    });
    service.on('data', (chunk: Buffer) => {
      if (this.losing !== undefined && this.posts >= this.losing) {
        this.losing = undefined;
        this.cut();
      } else browser.write(chunk);
    });
  }
}

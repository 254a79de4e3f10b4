import { Link, type Linked } from '../../harness/link.ts';

/** A connection on which a proxy passed on a request of a client. */
export interface Relayed {
  openedMs: number;
  endedMs?: number;
  endedBy?: Parameters<Linked['onEnd']>[0];
}

/** Passes bytes between a proxy (the client) and a service (the server), and records requests and closed connections. */
export class Relay {
  /** How many of the next requests get no response, because the link closes their connection. */
  cutting = 0;
  /** The heads of the requests, without the requests of a proxy to /readyz. */
  readonly heads: string[] = [];
  readonly connections = new Set<Relayed>();

  /** A link to the service, whose requests are recorded here. */
  open(servicePort: number): Promise<Link> {
    return Link.open(servicePort, () => {
      const relayed: Relayed = { openedMs: performance.now() };
      return {
        isRequestPassed: (chunk) => this.#isPassedOn(chunk, relayed),
        onEnd: (by) => {
          relayed.endedBy ??= by;
          relayed.endedMs ??= performance.now();
        },
      };
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

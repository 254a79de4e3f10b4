import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { newCursor } from '../../src/domain/page.ts';
import { Client, type WirePet } from '../../harness/client.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';

/** Connections that read the same page continuously, so that it is cached. */
const BUSY_READERS = 16;
/** Connections that read once after each create. */
const READERS = 4;
/** After this many creates the next page is read, because a page holds at most 100 animals. */
const CREATES_PER_PAGE = 90;

export interface StaleReadsReport {
  creates: number;
  reads: number;
  violations: string[];
}

/**
 * Two processes on one SQLite file. Each create goes through the first. When it is acknowledged, the page is
 * read through the second, and must contain the animal. While they wait, the readers send blank lines, so that
 * their sockets are readable before the request arrives: a process that checked the version of the file that
 * early would return a stale page.
 */
export async function readAfterCreates({ reads }: { reads: number }): Promise<StaleReadsReport> {
  await using data = await disposableFolder();
  const writing = await ServiceProcess.start({ data: data.path });
  const { key } = writing;
  const reading = await ServiceProcess.start({ data: data.path, key });
  const report: StaleReadsReport = { creates: 0, reads: 0, violations: [] };
  const client = new Client(key);
  const { port } = reading;
  const page = { request: pageRequest(key, 0) };
  const readers = Array.from({ length: READERS }, () => new RawReader(port));
  const busy = Array.from({ length: BUSY_READERS }, () => readForever(port, page));
  try {
    while (report.reads < reads) {
      const name = `animal-${report.creates}`;
      const created = client.create(writing.baseUrl, name, { isClaimed: false });
      const blankLines = setInterval(() => readers.forEach((reader) => reader.sendBlankLine()), 0);
      const { id } = JSON.parse((await created).body) as WirePet;
      clearInterval(blankLines);
      report.creates += 1;
      const pages = await Promise.all(readers.map((reader) => reader.read(page.request)));
      for (const body of pages) {
        report.reads += 1;
        if (!body.includes(`"${name}"`)) report.violations.push(`a read missed ${name}`);
      }
      if (report.creates % CREATES_PER_PAGE === 0) page.request = pageRequest(key, id);
    }
  } finally {
    for (const socket of busy) socket.destroy();
    for (const reader of readers) reader.close();
    client.close();
    report.violations.push(...(await writing.stop()), ...(await reading.stop()));
  }
  return report;
}

function pageRequest(key: string, afterId: number): string {
  const cursor = afterId === 0 ? '' : `&cursor=${newCursor(BigInt(afterId), undefined)}`;
  return `GET /v1/pets?limit=100${cursor} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

function readForever(port: number, page: { request: string }): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(page.request));
  socket.on('error', () => undefined);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    if (findBody(received) === undefined) return;
    received = '';
    socket.write(page.request);
  });
  return socket;
}

/** The body of a complete response, or undefined while parts are missing. */
function findBody(received: string): string | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)$/im.exec(received.slice(0, Math.max(0, headEnd)))?.[1];
  const body = received.slice(headEnd + 4);
  return headEnd === -1 || body.length < Number(length) ? undefined : body;
}

class RawReader {
  readonly #socket: Socket;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay();
  }

  sendBlankLine(): void {
    this.#socket.write('\r\n');
  }

  async read(request: string): Promise<string> {
    this.#socket.write(request);
    for (let received = ''; ;) {
      const [chunk] = (await once(this.#socket, 'data')) as [Buffer];
      received += chunk.toString('latin1');
      const body = findBody(received);
      if (body !== undefined) return body;
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

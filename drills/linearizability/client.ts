import { Agent, request } from 'node:http';

const RESPONSE_MS_MAX = 30_000;

export interface Request {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** The connection is cut after this time. */
  cutAfterMs?: number | undefined;
}

export interface Response {
  status: number;
  link: string;
  etag: string;
  body: string;
  startMs: number;
  endMs: number;
}

/** One client. It sends one request at a time, and keeps its connections. */
export class HistoryClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  /** Resolves to undefined if the response is lost. Never sends a request twice. */
  send({ method, url, headers, body, cutAfterMs }: Request): Promise<Response | undefined> {
    return new Promise((resolve) => {
      const lost = () => resolve(undefined);
      const startMs = performance.now();
      const sent = request(url, { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', lost);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            link: String(response.headers.link ?? ''),
            etag: response.headers.etag ?? '',
            body: Buffer.concat(chunks).toString(),
            startMs,
            endMs: performance.now(),
          });
        });
      });
      sent.on('error', lost);
      sent.on('close', lost);
      sent.setTimeout(RESPONSE_MS_MAX, () => sent.destroy());
      if (cutAfterMs !== undefined) setTimeout(() => sent.destroy(), cutAfterMs);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http';

const RESPONSE_MS_MAX = 30_000;

/** An animal as it is on the wire. Ids are numbers: a test stores far fewer than 2^53 animals, so they are exact. */
export interface WirePet {
  id: number;
  name: string;
  categoryId: number;
  status: string;
}

export interface ClientResponse {
  status: number;
  link: string;
  etag: string;
  body: string;
}

export interface ClientRequest extends Pick<RequestOptions, 'method'> {
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** The connection is cut after this time. */
  cutAfterMs?: number | undefined;
}

/** A request that got neither a response nor a closed connection. */
export class StalledRequest extends Error {}

/** One client. It keeps one connection to each service and sends one request at a time on it. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #authorization: string;

  constructor(key: string) {
    this.#authorization = `Bearer ${key}`;
  }

  get(url: string): Promise<ClientResponse> {
    return this.send(url, { method: 'GET' });
  }

  /** Creates an animal with this name. `isClaimed` sends the name as the Idempotency-Key too. */
  create(baseUrl: string, name: string, options: { isClaimed: boolean }): Promise<ClientResponse> {
    const body = JSON.stringify({ name, categoryId: 1 });
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...(options.isClaimed ? { 'Idempotency-Key': name } : {}),
    };
    return this.send(`${baseUrl}/pets`, { method: 'POST', headers, body });
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Never sends a request twice. A connection that ends without a response is a failure. */
  send(url: string, { method, headers, body, cutAfterMs }: ClientRequest): Promise<ClientResponse> {
    return new Promise((resolve, reject) => {
      const options = { method, headers: { Authorization: this.#authorization, ...headers } };
      const sent = request(url, { ...options, agent: this.#agent }, (response) => {
        readResponse(response).then(resolve, reject);
      });
      sent.setTimeout(RESPONSE_MS_MAX, () =>
        sent.destroy(new StalledRequest('no response within 30 s')),
      );
      sent.once('error', reject);
      if (cutAfterMs !== undefined) setTimeout(() => sent.destroy(), cutAfterMs);
      sent.end(body);
    });
  }
}

/** Where a list continues, below the base URL; undefined on its last page. */
export function nextTarget(link: string): string | undefined {
  return /<[^>]*\/v1([^>]*)>; rel="next"/.exec(link)?.[1];
}

/** The animals of each page, from the first page to the last. */
export async function* followList(
  get: (target: string) => Promise<Pick<ClientResponse, 'status' | 'link' | 'body'>>,
  first = '/pets?limit=100',
): AsyncGenerator<WirePet[]> {
  for (let target: string | undefined = first; target !== undefined;) {
    const { status, link, body } = await get(target);
    if (status !== 200) throw new Error(`GET ${target} returned ${status} ${body}`);
    yield JSON.parse(body) as WirePet[];
    target = nextTarget(link);
  }
}

/** All animals of a list. */
export async function listAll(
  { baseUrl, key }: { baseUrl: string; key: string },
  first?: string,
): Promise<WirePet[]> {
  const client = new Client(key);
  const pages = await Array.fromAsync(followList((target) => client.get(baseUrl + target), first));
  client.close();
  return pages.flat();
}

async function readResponse(response: IncomingMessage): Promise<ClientResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { link = '', etag = '' } = response.headers;
  return {
    status: response.statusCode ?? 0,
    link: String(link),
    etag,
    body: Buffer.concat(chunks).toString(),
  };
}

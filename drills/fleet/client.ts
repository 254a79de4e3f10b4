import { Agent, request, type IncomingMessage, type RequestOptions } from 'node:http';

const ANSWER_MS_MAX = 30_000;

/** A drill stores far fewer animals than numbers are exact for. */
export interface WirePet {
  id: number;
  name: string;
}

export interface Answer {
  status: number;
  link: string;
  body: string;
}

/** One client: one connection to each service, kept alive, with one request on it at a time. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #authorization: string;

  constructor(key: string) {
    this.#authorization = `Bearer ${key}`;
  }

  get(url: string): Promise<Answer> {
    return this.#send(url, { method: 'GET', headers: { Authorization: this.#authorization } });
  }

  /** Adds an animal of this name, under a claim of the same name where that is asked for. */
  create(baseUrl: string, name: string, options: { isClaimed: boolean }): Promise<Answer> {
    const body = JSON.stringify({ name, categoryId: 1 });
    const headers = {
      Authorization: this.#authorization,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...(options.isClaimed ? { 'Idempotency-Key': name } : {}),
    };
    return this.#send(`${baseUrl}/pets`, { method: 'POST', headers }, body);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Nothing is sent twice: a connection that ends without an answer is a failure, and shows. */
  #send(url: string, options: RequestOptions, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(url, { ...options, agent: this.#agent }, (response) => {
        readAnswer(response).then(resolve, reject);
      });
      sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error('no answer in 30 s')));
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { link = '' } = response.headers;
  return {
    status: response.statusCode ?? 0,
    link: String(link),
    body: Buffer.concat(chunks).toString(),
  };
}

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { newSecret } from '../../src/domain/api-key.ts';
import { newCursor } from '../../src/domain/page.ts';
import { splitResponses } from '../../test/support/raw-socket.ts';
import type { Random } from '../random.ts';
import type { ServiceProcess } from '../service-process.ts';

const CONNECTIONS = 8;
const PIPELINED = 8;
const VIOLATIONS_MAX = 20;
const LIMIT_MAX = 20;

interface Request {
  text: string;
  status: number;
  isCreate?: true;
}

interface MixedLoadOptions {
  random: Random;
  requests: number;
  /** Called after each response. */
  onDone: (done: number) => void;
}

/** Requests of every kind over a few connections, several at a time on each. Every status is checked. */
export class MixedLoad {
  readonly violations: string[] = [];
  readonly #service: ServiceProcess;
  readonly #options: MixedLoadOptions;
  #begun = 0;
  done = 0;
  created = 0;

  constructor(service: ServiceProcess, options: MixedLoadOptions) {
    this.#service = service;
    this.#options = options;
  }

  /** Resolves when all requests have their responses. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#connect()));
  }

  #connect(): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect(this.#service.port, '127.0.0.1');
      socket.setNoDelay(true);
      const sent: Request[] = [];
      let received = '';
      const { requests } = this.#options;
      const isOver = () => this.#begun >= requests || this.violations.length >= VIOLATIONS_MAX;
      const sendMore = () => {
        let text = '';
        while (sent.length < PIPELINED && !isOver()) {
          this.#begun += 1;
          const request = this.#newRequest();
          sent.push(request);
          text += request.text;
        }
        if (text !== '') socket.write(text);
        else if (sent.length === 0) socket.destroy();
      };
      socket.on('connect', sendMore);
      socket.on('data', (chunk) => {
        received = this.#take(received + chunk.toString('latin1'), sent);
        sendMore();
      });
      socket.on('error', (error) => this.violations.push(String(error)));
      socket.on('close', () => {
        if (sent.length > 0) this.violations.push(`closed before ${sent.length} responses`);
        resolve();
      });
    });
  }

  /** Checks the complete responses, and returns the bytes after them. */
  #take(received: string, sent: Request[]): string {
    const { responses, rest } = splitResponses(received);
    for (const { status, body } of responses) {
      const request = sent.shift();
      this.done += 1;
      this.#options.onDone(this.done);
      if (request?.status !== status) {
        this.violations.push(`${request?.text.split('\r\n')[0]} got ${status} ${body}`);
      } else if (request.isCreate) this.created += 1;
    }
    return rest;
  }

  #newRequest(): Request {
    const { random } = this.#options;
    const kind = random.integer(100);
    if (kind < 5) return { text: this.#create(kind < 2), status: 201, isCreate: true };
    if (kind < 50) return { text: this.#get(`/v1/pets?${this.#query()}`), status: 200 };
    if (kind < 88 && this.created > 0) {
      return { text: this.#get(`/v1/pets/${1 + random.integer(this.created)}`), status: 200 };
    }
    if (kind < 92) return { text: this.#get('/v1/pets/0'), status: 404 };
    if (kind < 95) return { text: this.#get('/v1/pets?limit=0'), status: 400 };
    if (kind < 97) return { text: this.#post('{"name":1}'), status: 400 };
    if (kind < 99) return { text: this.#get('/v1/pets', 'pet_live_x'), status: 401 };
    return { text: this.#get('/v1/pets', newSecret('production', randomBytes)), status: 401 };
  }

  #query(): string {
    const { random } = this.#options;
    const limit = `limit=${1 + random.integer(LIMIT_MAX)}`;
    if (random.isOneIn(4)) return `${limit}&status=available`;
    if (random.isOneIn(2)) return limit;
    return `${limit}&cursor=${newCursor(BigInt(random.integer(this.created + 1)), undefined)}`;
  }

  #get(target: string, key = this.#service.key): string {
    return `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  }

  #create(isClaimed: boolean): string {
    const body = `{"name":"animal ${this.#begun}","categoryId":${this.#options.random.integer(1_000)}}`;
    return this.#post(body, isClaimed ? `Idempotency-Key: ${this.#begun}\r\n` : '');
  }

  #post(body: string, header = ''): string {
    return `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${this.#service.key}\r\n${header}Content-Length: ${body.length}\r\n\r\n${body}`;
  }
}

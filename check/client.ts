import { isUtf8 } from 'node:buffer';
import { parseJson } from '../sdk/src/json.ts';
import { CREDENTIALS, type Credential } from './credentials.ts';
import { NoResponse, NotCheckable, type Evidence } from './verdict.ts';

export const REQUESTS_MAX = 300;
export const RESPONSE_BYTES_MAX = 1024 * 1024;
/** Parsing a body of 500,000 lists in each other takes 512 MB. */
const DEPTH_MAX = 100;
const REQUEST_TIMEOUT_MS = 10_000;
const RUN_TIMEOUT_MS = 300_000;

export type Operation = 'listPets' | 'createPet' | 'getPet';

export interface PetRequest {
  operation: Operation;
  /** Path and query below the base address. */
  path: string;
  credential: Credential;
  /** The body of a create; an empty string means no body. */
  body?: string;
}

/** One request and its response, as every clause sees it. */
export interface Exchange extends Evidence {
  operation: Operation;
  credential: Credential;
  status: number;
  contentType: string | undefined;
  headers: Headers;
  text: string;
  /** The body with exact integers; undefined if it is not JSON, or nested more than 100 deep. */
  body: unknown;
}

/** Sends a bounded number of requests, and keeps every exchange for the clauses that judge them all. */
export class Client {
  readonly exchanges: Exchange[] = [];
  readonly #base: string;
  readonly #key: string;
  readonly #timeoutMs: number;
  readonly #runTimeoutMs: number;
  readonly #endsAt: number;
  #requests = 0;

  constructor(
    base: string,
    key: string,
    timeoutMs = REQUEST_TIMEOUT_MS,
    runTimeoutMs = RUN_TIMEOUT_MS,
  ) {
    this.#base = base;
    this.#key = key;
    this.#timeoutMs = timeoutMs;
    this.#runTimeoutMs = runTimeoutMs;
    this.#endsAt = performance.now() + runTimeoutMs;
  }

  async send(petRequest: PetRequest): Promise<Exchange> {
    const remainingMs = Math.floor(this.#endsAt - performance.now());
    if (this.#requests >= REQUESTS_MAX || remainingMs <= 0) {
      throw new NotCheckable(
        `the check stops after ${REQUESTS_MAX} requests or ${this.#runTimeoutMs / 1000} seconds`,
      );
    }
    this.#requests += 1;
    const request = describeRequest(petRequest);
    const timeout = AbortSignal.timeout(Math.min(this.#timeoutMs, remainingMs));
    try {
      const response = await fetch(this.#base + petRequest.path, {
        ...this.#optionsOf(petRequest),
        // Redirects are not followed, because the key must not be sent to another address.
        redirect: 'manual',
        signal: timeout,
      });
      const bytes = await readBytes(response);
      const exchange = newExchange(petRequest, request, response, bytes);
      this.exchanges.push(exchange);
      return exchange;
    } catch (error) {
      if (error instanceof NotCheckable) throw error;
      throw new NoResponse(request, this.#reasonOf(error));
    }
  }

  #reasonOf(error: unknown): string {
    if (!(error instanceof Error)) return 'no response: the connection failed';
    if (error.name === 'TimeoutError')
      return `no response within ${this.#timeoutMs / 1000} seconds`;
    const cause = error.cause instanceof Error ? error.cause : error;
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
    return `no response: ${code ?? cause.message}`;
  }

  #optionsOf({ operation, credential, body }: PetRequest): RequestInit {
    const authorization = CREDENTIALS[credential].header(this.#key);
    const headers: Record<string, string> = { accept: 'application/json' };
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (operation !== 'createPet') return { method: 'GET', headers };
    headers['content-type'] = 'application/json';
    return { method: 'POST', headers, body: body || null };
  }
}

function newExchange(
  { operation, credential }: PetRequest,
  request: string,
  response: Response,
  bytes: Buffer,
): Exchange {
  const text = bytes.toString();
  const contentType = response.headers.get('content-type') ?? undefined;
  return {
    operation,
    credential,
    request,
    response: `${response.status}, ${contentType ?? 'no Content-Type'}, ${text === '' ? 'no body' : text}`,
    status: response.status,
    contentType,
    headers: response.headers,
    text,
    body: isUtf8(bytes) ? parseBody(text) : undefined,
  };
}

function describeRequest({ operation, path, credential, body }: PetRequest): string {
  if (operation !== 'createPet') return `GET ${path} ${CREDENTIALS[credential].description}`;
  const sent = body ? `and the body ${body}` : 'without a body';
  return `POST ${path} ${CREDENTIALS[credential].description} ${sent}`;
}

function parseBody(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    if (depth > DEPTH_MAX) return true;
  }
  return false;
}

async function readBytes(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest of the response.
    if (bytes > RESPONSE_BYTES_MAX) {
      throw new NotCheckable(`a response was longer than ${RESPONSE_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

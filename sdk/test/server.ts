import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pet } from '../src/index.ts';

/** A fault that the server can cause for one request. */
export type Fault =
  /** The connection breaks before anything is stored. */
  | 'lose_request'
  /** The animal is stored, but the connection breaks before the response. */
  | 'lose_response'
  /** The animal is stored, but the connection breaks in the middle of the response. */
  | 'cut_short'
  /** The response is complete for HTTP, but its JSON ends in the middle. */
  | 'half_json'
  /** A proxy responds with 200 and its own page. */
  | 'garbage'
  /** There is never a response. */
  | 'silence'
  /** The response is 64 MiB long. */
  | 'endless'
  | { status: number; code?: string; headers?: Record<string, string>; body?: string };

export interface SeenRequest {
  /** Counts from 1. */
  number: number;
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface TestServer {
  baseUrl: string;
  origin: string;
  apiKey: string;
  /** The animals in the order of their ids. */
  pets: Pet[];
  requests: SeenRequest[];
  /** Chooses the fault of each request. */
  fault: (request: SeenRequest) => Fault | undefined;
  /** The base URL of the links to the next page. */
  linkBase: string;
  nextId: bigint;
  close: () => Promise<void>;
}

interface Reply {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

/** The three operations of the specification, in memory and over real HTTP, with faults. */
export async function openTestServer(): Promise<TestServer> {
  const claims = new Map<string, { body: string; reply: Reply }>();
  const listener = createServer((request, response) => {
    void serve(server, claims, request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const server: TestServer = {
    baseUrl: `${origin}/v1`,
    origin,
    apiKey: 'pet_test_0123456789',
    pets: [],
    requests: [],
    fault: () => undefined,
    linkBase: `${origin}/v1`,
    nextId: 1n,
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        listener.closeAllConnections();
      }),
  };
  return server;
}

type Claims = Map<string, { body: string; reply: Reply }>;

async function serve(
  server: TestServer,
  claims: Claims,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url = '', headers } = request;
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const seen = { number: server.requests.length + 1, method, url, headers, body };
  server.requests.push(seen);
  const fault = server.fault(seen);

  if (fault === 'silence') return;
  if (fault === 'lose_request') {
    response.destroy();
    return;
  }
  if (fault === 'endless') {
    writeSpaces(response);
    return;
  }
  const reply = typeof fault === 'object' ? refuse(fault) : replyTo(server, claims, seen);
  if (fault === 'lose_response') {
    response.destroy();
    return;
  }
  const text = fault === 'garbage' ? '<html>Welcome to the hotel network</html>' : reply.body;
  const bytes = Buffer.from(text);
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
  const isHalf = fault === 'half_json' || fault === 'cut_short';
  response.writeHead(reply.status, {
    'Content-Type': 'application/json',
    'Content-Length': fault === 'half_json' ? half.length : bytes.length,
    'X-Request-Id': `request-${seen.number}`,
    ...reply.headers,
  });
  // The connection breaks after the half was sent, so that the client receives it.
  if (fault === 'cut_short') response.write(half, () => response.destroy());
  else response.end(isHalf ? half : bytes);
}

const SPACES = ' '.repeat(64 * 1024);
const SPACES_WRITES_MAX = 1000;

/** More than any client should read, but not endless if one does. */
function writeSpaces(response: ServerResponse, writesLeft = SPACES_WRITES_MAX): void {
  response.write(SPACES, (fault) => {
    if (!fault && writesLeft > 0) writeSpaces(response, writesLeft - 1);
  });
}

function replyTo(server: TestServer, claims: Claims, request: SeenRequest): Reply {
  const { method, url, headers } = request;
  if (headers.authorization !== `Bearer ${server.apiKey}`) {
    return error(401, 'invalid_api_key', 'The API key is not valid.');
  }
  const { pathname, searchParams } = new URL(url, server.baseUrl);
  if (pathname === '/v1/pets' && method === 'GET') return listPets(server, searchParams);
  if (pathname === '/v1/pets' && method === 'POST') return createPetOnce(server, claims, request);
  const id = /^\/v1\/pets\/(-?\d+)$/.exec(pathname)?.[1];
  if (id !== undefined && method === 'GET') return getPet(server, BigInt(id));
  return error(404, 'route_not_found', 'The path does not exist.');
}

function listPets(server: TestServer, query: URLSearchParams): Reply {
  const limit = Number(query.get('limit') ?? 20);
  const status = query.get('status');
  if (!(limit >= 1 && limit <= 100)) {
    return error(400, 'invalid_parameter', 'limit must be an integer from 1 to 100.');
  }
  const cursor = query.get('cursor') ?? 'after-0';
  const ofStatus = server.pets.filter((pet) => status === null || pet.status === status);
  const linkTo = (rel: string, to: string) => {
    const target = new URLSearchParams(query);
    target.set('cursor', to);
    return `<${server.linkBase}/pets?${target.toString()}>; rel="${rel}"`;
  };
  const links = [`<${server.linkBase}/pets?limit=${limit}>; rel="first"`];
  let pets: Pet[];
  if (cursor.startsWith('after-')) {
    const matching = ofStatus.filter(({ id }) => id > BigInt(cursor.slice('after-'.length)));
    pets = matching.slice(0, limit);
    if (matching.length > limit) links.unshift(linkTo('next', `after-${pets.at(-1)?.id}`));
  } else {
    const before = cursor === 'last' ? undefined : BigInt(cursor.slice('before-'.length));
    const matching = ofStatus.filter(({ id }) => before === undefined || id < before);
    pets = matching.slice(-limit);
    if (before !== undefined) links.unshift(linkTo('next', `after-${before - 1n}`));
    if (matching.length > limit) links.unshift(linkTo('prev', `before-${pets[0]?.id}`));
  }
  const body = `[${pets.map(write).join(',')}]`;
  return { status: 200, headers: { Link: links.join(', ') }, body };
}

function createPetOnce(server: TestServer, claims: Claims, { headers, body }: SeenRequest): Reply {
  const key = headers['idempotency-key'];
  const claim = typeof key === 'string' ? claims.get(key) : undefined;
  if (claim !== undefined && claim.body !== body) {
    return error(422, 'idempotency_key_reused', 'The key was used for a different animal.');
  }
  if (claim !== undefined) {
    return { ...claim.reply, headers: { 'Idempotency-Replayed': 'true' } };
  }
  const reply = createPet(server, body);
  if (typeof key === 'string' && reply.status === 201) claims.set(key, { body, reply });
  return reply;
}

function createPet(server: TestServer, body: string): Reply {
  const { name, categoryId, status = 'available' } = readExactly(body);
  if (typeof name !== 'string' || name === '' || typeof categoryId !== 'bigint') {
    return error(400, 'invalid_field', 'name must be a string of 1 to 255 characters.');
  }
  const pet = { id: server.nextId, name, categoryId, status: status as Pet['status'] };
  server.nextId += 1n;
  server.pets.push(pet);
  return { status: 201, body: write(pet) };
}

function getPet(server: TestServer, id: bigint): Reply {
  const pet = server.pets.find((candidate) => candidate.id === id);
  const headers = {
    Deprecation: '@1794614400',
    Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    Link: `<${server.linkBase}/pets>; rel="successor-version", </docs#getPet>; rel="deprecation"; type="text/html"`,
  };
  return pet === undefined
    ? { ...error(404, 'pet_not_found', `No animal has the id ${id}.`), headers }
    : { status: 200, headers, body: write(pet) };
}

function refuse(fault: Exclude<Fault, string>): Reply {
  const { status, code = 'unavailable', headers = {}, body } = fault;
  const reply = error(status, code, 'On purpose.');
  return { ...reply, headers, body: body ?? reply.body };
}

function error(status: number, code: string, message: string): Reply {
  return { status, body: JSON.stringify({ code, message, status }) };
}

// The server has its own reading and writing, so that a bug of the library does not cancel itself out.
function readExactly(body: string): Record<string, unknown> {
  return JSON.parse(body, exact) as Record<string, unknown>;
}

function exact(_key: string, value: unknown, context?: { source: string }): unknown {
  return typeof value === 'number' ? BigInt(context?.source ?? '') : value;
}

function write({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { ERRORS } from '../../src/domain/errors.ts';
import { listAll } from '../../harness/client.ts';
import { newRandom } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { brokenBy, brokenByBug } from '../broken/broken.ts';
import { drill, type DrillOptions, type DrillReport } from '../drill.ts';
import { newStream, SMUGGLED_NAME, type Part, type Stream } from './stream.ts';

const CONNECTIONS = 16;
/** The service must have closed every connection by then: the request timeout is 15 s. */
const CONNECTION_MS_MAX = 40_000;
const VIOLATIONS_MAX = 20;
/** How much memory may be added after the first tenth of the requests. The store grows meanwhile. */
const GROWTH_MIB_MAX = 48;

// Half of the streams are pipelines of up to 20 requests of every kind, split at random places: each must have exactly its
// response. The others mix them with over 100 malformed requests, seven whose end is ambiguous, and random changes of good
// ones: what precedes them has its response, and what follows has an Error or its response.
drill(
  'each response belongs to its request and has its length, every error is an Error, and a request that was refused has no effect',
  { unit: 'requests', rounds: 200_000, quickRounds: 5_000 },
  (options) => run(options),
  {
    'a response to HEAD has a body': {
      finds: ['no head in'],
      search: (options) => run(options, brokenByBug('a response to HEAD has a body')),
    },
    'a lenient parser': {
      finds: ['out of order'],
      search: (options) => run(options, ['--insecure-http-parser']),
    },
    'plain text instead of Errors': {
      finds: ['400 with Bad Request'],
      search: (options) => run(options, brokenBy('plain-errors')),
    },
  },
);

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const service = await ServiceProcess.start({ nodeFlags });
  const { key, port } = service;
  const client = { key, etag: await etagOf(service) };
  const totals = { requests: 0, responses: 0, streams: 0, earlyMib: 0 };
  const violations: string[] = [];
  const acknowledged = new Set<string>();
  const sendStreams = async () => {
    while (totals.requests < rounds && violations.length < VIOLATIONS_MAX) {
      totals.streams += 1;
      // One seed per stream: a violation can be repeated alone.
      const own = seed * 1_000_003 + totals.streams;
      const stream = newStream(newRandom(own), client, `m${own}`);
      const received = await exchange(port, stream);
      const { responses, problems } = judge(stream, received);
      totals.requests += stream.parts.length;
      totals.responses += responses.length;
      violations.push(...problems.map((problem) => `stream ${own}: ${problem}`));
      for (const { status, body } of responses) {
        if (status === 201) acknowledged.add(/^\{"id":(\d+)/.exec(body)?.[1] ?? body);
      }
      onProgress(`${totals.requests} of ${rounds} requests`);
      if (totals.earlyMib === 0 && totals.requests > rounds / 10) {
        totals.earlyMib = service.memoryMib();
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendStreams));
  const { requests, responses, streams, earlyMib } = totals;
  const lastMib = service.memoryMib();
  if (lastMib > earlyMib + GROWTH_MIB_MAX) {
    violations.push(`the memory grew from ${earlyMib} to ${lastMib} MiB`);
  }
  violations.push(...(await compareStored(service, acknowledged)), ...(await service.stop()));
  return {
    passed: requests,
    violations,
    figures: {
      streams,
      responses,
      'animals created': acknowledged.size,
      'memory after a tenth, at the end (MiB)': `${earlyMib}, ${lastMib}`,
    },
  };
}

async function etagOf({ key, baseUrl }: ServiceProcess): Promise<string> {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${baseUrl}/pets?status=sold`, { headers });
  return response.headers.get('etag') ?? '';
}

/** Sends a stream in its pieces, and reads until the service closes. */
async function exchange(
  port: number,
  { pieces, isHalfClosed }: Stream,
): Promise<Buffer | undefined> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  const received = new Promise<Buffer | undefined>((resolve) => {
    const timer = setTimeout(() => {
      resolve(undefined);
      socket.destroy();
    }, CONNECTION_MS_MAX);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The service may close while this side still sends: what has arrived counts.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
  });
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
  if (isHalfClosed) socket.end();
  return received;
}

interface Response {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: string;
}

function judge(
  { parts, isHalfClosed }: Stream,
  received: Buffer | undefined,
): { responses: Response[]; problems: string[] } {
  if (received === undefined) return { responses: [], problems: ['the connection stayed open'] };
  const { responses, problems } = parse(received, parts);
  let lastIndex = -1;
  for (const { status, headers, body } of responses) {
    const mark = headers.get('x-request-id');
    if (mark === undefined) problems.push(`${status} without an X-Request-Id`);
    const index = parts.findIndex((part) => part.mark === mark);
    const isHead = parts[index]?.method === 'HEAD';
    if (status >= 400 && !isHead && !isError(status, body)) problems.push(`${status} with ${body}`);
    // A request whose mark was changed, or that was not understood, has another id.
    if (index === -1) continue;
    if (index <= lastIndex) problems.push(`the response to ${mark} is out of order`);
    lastIndex = index;
  }
  const known = parts.findIndex(({ status }) => status === undefined);
  const count = known === -1 ? parts.length : known;
  for (const [index, part] of parts.slice(0, count).entries()) {
    const problem = problemOf(part, responses[index]);
    if (problem !== undefined) problems.push(problem);
  }
  if (known === -1 && responses.length > count) problems.push('there are more responses');
  if (!isHalfClosed && responses.at(-1)?.headers.get('connection') !== 'close') {
    problems.push('the last response does not close the connection');
  }
  return { responses, problems };
}

function problemOf({ mark, status, contains }: Part, response?: Response): string | undefined {
  if (response?.headers.get('x-request-id') !== mark || response.status !== status) {
    return `${mark} got ${response?.status ?? 'no response'}`;
  }
  return response.body.includes(contains) ? undefined : `${mark} got ${response.body}`;
}

/** Reads one response after the other, as RFC 9112 says, but for 100 Continue, which precedes one. */
function parse(
  received: Buffer,
  parts: readonly Part[],
): { responses: Response[]; problems: string[] } {
  const responses: Response[] = [];
  for (let rest = received; rest.length > 0;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const [line = '', ...lines] = rest.toString('latin1', 0, Math.max(0, headEnd)).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]+$/.exec(line)?.[1]);
    const headers = new Map(
      lines.map((each) => {
        const [, name = '', value = ''] = /^([\w-]+): ([\x20-\x7e]*)$/.exec(each) ?? [];
        return [name.toLowerCase(), value] as const;
      }),
    );
    const isEmpty = status < 200 || status === 204 || status === 304;
    const isRight = headers.size === lines.length && !headers.has('');
    if (Number.isNaN(status) || !isRight || headers.has('content-length') === isEmpty) {
      const shown = JSON.stringify(rest.toString('latin1').slice(0, 200));
      return { responses, problems: [`no head in ${shown}`] };
    }
    const isHead = parts.some(
      ({ method, mark }) => method === 'HEAD' && mark === headers.get('x-request-id'),
    );
    const length = isEmpty || isHead ? 0 : Number(headers.get('content-length'));
    const end = headEnd + 4 + length;
    if (rest.length < end) return { responses, problems: ['a body is cut'] };
    const body = rest.toString('utf8', headEnd + 4, end);
    if (status >= 200) responses.push({ status, headers, body });
    rest = rest.subarray(end);
  }
  return { responses, problems: [] };
}

function isError(status: number, body: string): boolean {
  try {
    const error = JSON.parse(body) as Record<string, unknown>;
    return (
      Object.keys(error).toSorted().join() === 'code,message,status' &&
      error['status'] === status &&
      typeof error['message'] === 'string' &&
      Object.hasOwn(ERRORS, String(error['code']))
    );
  } catch {
    return false;
  }
}

/** What is stored must be what was acknowledged: a refused request has stored nothing. */
async function compareStored(
  service: ServiceProcess,
  acknowledged: ReadonlySet<string>,
): Promise<string[]> {
  const violations: string[] = [];
  const stored = await listAll(service);
  for (const { id, name } of stored) {
    if (!acknowledged.has(String(id))) violations.push(`${id} (${name}) was not acknowledged`);
    if (name === SMUGGLED_NAME) violations.push(`${id} was created by a hidden request`);
  }
  const lost = acknowledged.size - stored.length;
  if (lost > 0) violations.push(`${lost} animals are lost`);
  return violations.slice(0, VIOLATIONS_MAX);
}

import { connect } from 'node:net';
import { ERRORS } from '../../src/domain/errors.ts';
import { splitResponses, type RawResponse } from '../../harness/raw-socket.ts';
import { brokenBy } from '../broken/broken.ts';
import { listAll } from '../../harness/client.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { mergeReports } from '../stores.ts';
import { newRequest, SMUGGLED_NAME, type HostileRequest } from './requests.ts';

const CONNECTIONS = 16;
const REQUESTS_PER_CONNECTION_MAX = 5;
/** The service must have closed every connection by then: the request timeout is 15 s. */
const CONNECTION_MS_MAX = 40_000;
const VIOLATIONS_MAX = 20;
/** How much memory may be added after the first tenth of the requests. The store grows meanwhile. */
const GROWTH_MIB_MAX = 48;

export const drill: Drill = {
  promise:
    'Every error is an Error. A request that was refused has no effect, and each response belongs to its request.',
  method:
    'Over 100 malformed requests, seven whose end is ambiguous, and random changes of good ones, up to five per connection.',
  unit: 'requests',
  rounds: 200_000,
  quickRounds: 5_000,
  run: (options) => drillHostileHttp(options),
  control: {
    brokenBy: 'a lenient parser, and plain text instead of Errors',
    finds: ['out of order', '400 with Bad Request'],
    run: async (options) =>
      mergeReports({
        'lenient parser': await drillHostileHttp(options, ['--insecure-http-parser']),
        'plain text': await drillHostileHttp(options, brokenBy('plain-errors')),
      }),
  },
};

/** Sends malformed requests, several per connection, and checks every response. */
export async function drillHostileHttp(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags?: readonly string[],
): Promise<DrillReport> {
  const service = await ServiceProcess.start({ nodeFlags });
  const { key, port } = service;
  const totals = { requests: 0, responses: 0, connections: 0, earlyMib: 0 };
  const violations: string[] = [];
  const acknowledged = new Set<string>();
  const client = async () => {
    while (totals.requests < rounds && violations.length < VIOLATIONS_MAX) {
      totals.connections += 1;
      // One seed per connection: a violation can be repeated alone.
      const own = seed * 1_000_003 + totals.connections;
      const attacked = await attack(port, own, key);
      totals.requests += attacked.requests;
      totals.responses += attacked.responses.length;
      violations.push(...attacked.violations.map((violation) => `seed ${own}: ${violation}`));
      const created = attacked.responses.filter(({ status }) => status === 201);
      for (const { body } of created) acknowledged.add(/^\{"id":(\d+)/.exec(body)?.[1] ?? body);
      onProgress(`${totals.requests} of ${rounds} requests`);
      if (totals.earlyMib === 0 && totals.requests > rounds / 10) {
        totals.earlyMib = service.memoryMib();
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  const { requests, responses, earlyMib } = totals;
  const lastMib = service.memoryMib();
  if (lastMib > earlyMib + GROWTH_MIB_MAX) {
    violations.push(`the memory grew from ${earlyMib} to ${lastMib} MiB`);
  }
  violations.push(...(await compareStored(service, acknowledged)), ...(await service.stop()));
  return {
    passed: requests,
    violations,
    figures: {
      requests,
      responses,
      'animals created': acknowledged.size,
      'memory after a tenth, at the end (MiB)': `${earlyMib}, ${lastMib}`,
    },
  };
}

interface Attack {
  requests: number;
  responses: RawResponse[];
  violations: string[];
}

/** Sends the requests of one connection, closes the sending side, and reads until the service closes. */
async function attack(port: number, seed: number, key: string): Promise<Attack> {
  const random = newRandom(seed);
  const count = random.integer(REQUESTS_PER_CONNECTION_MAX) + 1;
  const requests = Array.from({ length: count }, (_, index) =>
    // The second number makes it unlikely that a mutation turns one mark into another.
    newRequest(random, key, `m${seed}-${index}-${random.integer(1_000_000)}`),
  );
  const received = await exchange(port, Buffer.concat(requests.map(({ bytes }) => bytes)), random);
  if (received === undefined) {
    return { requests: count, responses: [], violations: ['the connection stayed open'] };
  }
  const { responses: all, rest } = splitResponses(received);
  // 100 Continue comes before the response of the same request.
  const responses = all.filter(({ status }) => status >= 200);
  const violations = findViolations(requests, responses);
  if (rest !== '') violations.push(`bytes that are no response: ${JSON.stringify(rest)}`);
  return { requests: count, responses, violations };
}

function exchange(port: number, bytes: Buffer, random: Random): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => {
      socket.destroy();
      resolve(undefined);
    }, CONNECTION_MS_MAX);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The service may close while this side still sends: what has arrived counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
    // In two pieces, so that a request is also received in part.
    const at = random.integer(bytes.length);
    socket.setNoDelay(true);
    socket.write(bytes.subarray(0, at), () => socket.end(bytes.subarray(at)));
  });
}

function findViolations(
  requests: readonly HostileRequest[],
  responses: readonly RawResponse[],
): string[] {
  const violations: string[] = [];
  let lastIndex = -1;
  for (const { status, head, body } of responses) {
    if (status >= 400 && !isError(status, body)) violations.push(`${status} with ${body}`);
    const mark = /^x-request-id: (.+)$/im.exec(head)?.[1] ?? '';
    if (mark === '') violations.push(`${status} without an X-Request-Id`);
    const index = requests.findIndex((request) => request.mark === mark);
    // A request whose mark was changed, or that was not understood, has another id.
    if (index === -1) continue;
    if (index <= lastIndex) violations.push(`the response to ${mark} is out of order`);
    lastIndex = index;
  }
  // Until the first malformed request, each request has its own response and succeeds.
  for (const [index, { isGood, mark, name }] of requests.entries()) {
    if (!isGood) break;
    const response = responses[index];
    const isOwn = response?.head.toLowerCase().includes(`x-request-id: ${mark}`) === true;
    const isRight = response?.status === (name === undefined ? 200 : 201);
    if (!isOwn || !isRight) violations.push(`${mark} got ${response?.status ?? 'no response'}`);
    else if (name !== undefined && !response.body.includes(`"name":"${name}"`)) {
      violations.push(`${mark} got the animal ${response.body}`);
    }
  }
  return violations;
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

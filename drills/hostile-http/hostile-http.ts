import { connect } from 'node:net';
import { ERRORS } from '../../src/domain/errors.ts';
import { splitResponses, type RawResponse } from '../../test/support/raw-socket.ts';
import { Client, followList } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import { newRandom, type Random } from '../random.ts';
import { newRequest, SMUGGLED_NAME, type HostileRequest } from './requests.ts';

const CONNECTIONS = 16;
const REQUESTS_PER_CONNECTION_MAX = 5;
/** The service must have closed every connection by then: the request timeout is 15 s. */
const CONNECTION_MS_MAX = 40_000;
const VIOLATIONS_MAX = 20;
/** How much memory may be added after the first tenth of the requests. The store grows meanwhile. */
const GROWTH_MIB_MAX = 48;

export interface HostileReport {
  requests: number;
  responses: number;
  created: number;
  /** Memory of the process after a tenth of the requests, and at the end. */
  memoryMib: [early: number, last: number];
  violations: string[];
}

/** Sends malformed requests, several per connection, and checks every response. */
export async function drillHostileHttp(options: {
  requests: number;
  seed: number;
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  onProgress?: (requests: number) => void;
}): Promise<HostileReport> {
  const service = await ServiceProcess.start({ nodeFlags: options.nodeFlags });
  const { key, port } = service;
  const report: HostileReport = {
    requests: 0,
    responses: 0,
    created: 0,
    memoryMib: [0, 0],
    violations: [],
  };
  const acknowledged = new Set<string>();
  let connections = 0;
  const client = async () => {
    while (report.requests < options.requests && report.violations.length < VIOLATIONS_MAX) {
      connections += 1;
      // One seed per connection: a violation can be repeated alone.
      const seed = options.seed * 1_000_003 + connections;
      const { requests, responses, violations } = await attack(port, seed, key);
      report.requests += requests;
      report.responses += responses.length;
      report.violations.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
      for (const { status, body } of responses) {
        if (status === 201) acknowledged.add(idOf(body));
      }
      options.onProgress?.(report.requests);
      if (report.memoryMib[0] === 0 && report.requests > options.requests / 10) {
        report.memoryMib[0] = service.memoryMib();
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    report.memoryMib[1] = service.memoryMib();
    report.created = acknowledged.size;
    report.violations.push(...findGrowth(report.memoryMib));
    report.violations.push(...(await compareStored(service.baseUrl, key, acknowledged)));
  } finally {
    report.violations.push(...(await service.stop()));
  }
  return report;
}

function findGrowth([early, last]: readonly [number, number]): string[] {
  const isFlat = last <= early + GROWTH_MIB_MAX;
  return isFlat ? [] : [`the memory grew from ${early} to ${last} MiB`];
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
  baseUrl: string,
  key: string,
  acknowledged: ReadonlySet<string>,
): Promise<string[]> {
  const violations: string[] = [];
  const client = new Client(key);
  let stored = 0;
  for await (const page of followList((target) => client.get(baseUrl + target))) {
    stored += page.length;
    for (const { id, name } of page) {
      if (!acknowledged.has(String(id))) violations.push(`${id} (${name}) was not acknowledged`);
      if (name === SMUGGLED_NAME) violations.push(`${id} was created by a hidden request`);
    }
  }
  client.close();
  if (stored < acknowledged.size) violations.push(`${acknowledged.size - stored} animals are lost`);
  return violations.slice(0, VIOLATIONS_MAX);
}

function idOf(body: string): string {
  return /^\{"id":(\d+)/.exec(body)?.[1] ?? body;
}

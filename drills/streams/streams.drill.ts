import { listAll } from '../../harness/client.ts';
import { newRandom } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { exchange, judge, newStream, SMUGGLED_NAME } from '../../harness/streams.ts';
import { brokenBy, brokenByBug } from '../broken/broken.ts';
import { drill, type DrillOptions, type DrillReport } from '../drill.ts';

const CONNECTIONS = 16;
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

// Sends load with autocannon, in its own process. Arguments: address, seconds, connections, and then those of
// load.lua. Prints the same line.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

interface Request {
  path?: string;
}
interface Outcome {
  requests: { total: number };
  duration: number;
  latency: { p50: number; p99: number };
  '4xx': number;
  '5xx': number;
  errors: number;
}
type Autocannon = (options: {
  url: string;
  duration: number;
  connections: number;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  requests: { setupRequest: (request: Request) => Request }[];
}) => Promise<Outcome>;

// The package has no type declarations.
const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

const [url = '', seconds, connections, method = 'GET', pathsFile = '', body, ...headerLines] =
  process.argv.slice(2);
const paths = readFileSync(pathsFile, 'utf8').trimEnd().split('\n');
let position = 0;

const outcome = await autocannon({
  url,
  duration: Number(seconds),
  connections: Number(connections),
  method,
  headers: Object.fromEntries(headerLines.map((line) => line.split(/: (.*)/).slice(0, 2))),
  body: body === '' ? undefined : body,
  requests: [
    {
      setupRequest: (request) => {
        position = (position + 1) % paths.length;
        return { ...request, path: paths[position] ?? '/' };
      },
    },
  ],
});
const result = {
  requests: outcome.requests.total,
  seconds: outcome.duration,
  p50Ms: outcome.latency.p50,
  p99Ms: outcome.latency.p99,
  failed: outcome['4xx'] + outcome['5xx'] + outcome.errors,
};
process.stdout.write(`RESULT ${JSON.stringify(result)}\n`);

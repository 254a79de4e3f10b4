// Sends load with autocannon, in its own process. Arguments: address, seconds, connections, method, file of
// paths (one per line), Authorization, body (optional). Prints the same line as load.lua.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

interface Request {
  path?: string;
}
interface Outcome {
  requests: { total: number };
  duration: number;
  latency: { p50: number; p99: number };
  non2xx: number;
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

const [url = '', seconds, connections, method = 'GET', pathsFile = '', authorization = '', body] =
  process.argv.slice(2);
const paths = readFileSync(pathsFile, 'utf8').trimEnd().split('\n');
let position = 0;

const { requests, duration, latency, non2xx, errors } = await autocannon({
  url,
  duration: Number(seconds),
  connections: Number(connections),
  method,
  headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  body,
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
  requests: requests.total,
  seconds: duration,
  p50Ms: latency.p50,
  p99Ms: latency.p99,
  failed: non2xx + errors,
};
process.stdout.write(`RESULT ${JSON.stringify(result)}\n`);

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { loadConfig, SETTINGS } from '../config.ts';
import { localUrl } from '../listen.ts';
import { defineCommand } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

const { env, host, port } = SETTINGS;

export const health = defineCommand({
  purpose: 'Ask the service whether it can serve requests',
  options: { host, port, env },
  notes: 'The exit code is 0 if /readyz returns 200, and 1 otherwise: for containers and scripts.',
  examples: ['health', 'health --env staging'],
  async action({ flags, io }) {
    const config = loadConfig(flags, io.env);
    const url = `${localUrl(config.host, config.port)}/readyz`;
    const problem = await problemOf(url);
    if (problem === undefined) {
      io.stdout.write('ready\n');
      return 0;
    }
    io.stderr.write(`petstore: the service is not ready: ${url} ${problem}.\n`);
    return 1;
  },
});

async function problemOf(url: string): Promise<string | undefined> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) });
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode === 200 ? undefined : `returned ${response.statusCode}`;
  } catch (error) {
    const { message, cause = message } = error as Error;
    return `gave no response (${cause instanceof Error ? cause.message : String(cause)})`;
  }
}

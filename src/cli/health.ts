import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { loadConfig, SETTINGS } from '../config.ts';
import { localUrl } from '../listen.ts';
import { integerFrom } from '../setting.ts';
import { defineCommand } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

const { env } = SETTINGS;
const host = { ...SETTINGS.host, description: 'the address to ask' };
const port = { ...SETTINGS.port, ...integerFrom(1, 65_535), description: 'the port to ask' };

export const health = defineCommand({
  purpose: 'Ask the service whether it can serve requests',
  worksOn: 'service',
  options: { host, port, env },
  switches: { live: 'ask whether the process runs (/livez), even if it cannot serve requests yet' },
  notes: `The exit code is 0 if /readyz (with --live, /livez) returns 200, and 1 otherwise: for containers
and scripts.`,
  examples: ['health', 'health --env staging', 'health --live'],
  async action({ flags, switches, io }) {
    const config = loadConfig(flags, io.env);
    const [path, state] = switches.live ? ['livez', 'alive'] : ['readyz', 'ready'];
    const url = `${localUrl(config.host, config.port)}/${path}`;
    const problem = await problemOf(url);
    if (problem === undefined) {
      io.stdout.write(`${state}\n`);
      return 0;
    }
    io.stderr.write(`petstore: the service is not ${state}: ${url} ${problem}.\n`);
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

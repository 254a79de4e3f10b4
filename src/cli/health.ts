import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { loadConfig, SETTINGS } from '../config.ts';
import { baseUrlOf, localUrl } from '../listen.ts';
import { integerFrom, type Flags, type Variables } from '../setting.ts';
import { defineCommand } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

const { env } = SETTINGS;
const baseUrl = { ...SETTINGS['base-url'], description: 'where the service is' };
const host = { ...SETTINGS.host, description: 'the address to ask' };
const port = { ...SETTINGS.port, ...integerFrom(1, 65_535), description: 'the port to ask' };

export const health = defineCommand({
  purpose: 'Ask the service whether it can serve requests',
  worksOn: 'service',
  options: { 'base-url': baseUrl, host, port, env },
  switches: { live: 'ask whether the process runs (/livez), even if it cannot serve requests yet' },
  notes: `The exit code is 0 if /readyz (with --live, /livez) returns 200, and 1 otherwise: for containers
and scripts. PETSTORE_BASE_URL is used only without --host, --port, --env, PETSTORE_HOST and
PETSTORE_PORT: in a container it is the address of a proxy.`,
  examples: ['health', 'health --env staging', 'health --live --base-url http://127.0.0.1:8080/v1'],
  async action({ flags, switches, io }) {
    const config = loadConfig(flags, io.env);
    const [path, state] = switches.live ? ['livez', 'alive'] : ['readyz', 'ready'];
    const site = isLocal(flags, io.env)
      ? localUrl(config.host, config.port)
      : baseUrlOf(config, config.port).replace(/\/v1$/, '');
    const url = `${site}/${path}`;
    const problem = await problemOf(url);
    if (problem === undefined) {
      io.stdout.write(`${state}\n`);
      return 0;
    }
    io.stderr.write(`petstore: the service is not ${state}: ${url} ${problem}.\n`);
    return 1;
  },
});

/** Whether an address of this machine was given. A flag takes precedence over every variable. */
function isLocal(flags: Flags, variables: Variables): boolean {
  if (flags['base-url'] !== undefined) return false;
  const isFlagged = [flags['host'], flags['port'], flags['env']].some((flag) => flag !== undefined);
  return isFlagged || [host, port].some(({ variable }) => Boolean(variables[variable]));
}

async function problemOf(url: string): Promise<string | undefined> {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http');
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

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { loadConfig, SETTINGS } from '../config.ts';
import { localUrl } from '../listen.ts';
import { UsageError } from '../setting.ts';
import { defineCommand } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

const ASKED = {
  host: { ...SETTINGS.host, description: 'the address to ask' },
  port: { ...SETTINGS.port, description: 'the port to ask' },
  'admin-host': { ...SETTINGS['admin-host'], description: 'the address that --live asks' },
  'admin-port': { ...SETTINGS['admin-port'], description: 'the admin port, which --live asks' },
};

export const health = defineCommand({
  purpose: 'Ask the service on this machine whether it can serve requests',
  options: { ...ASKED, env: SETTINGS.env },
  switches: { live: 'ask whether the process runs (/livez), even if it cannot serve requests yet' },
  notes: `The exit code is 0 if /readyz (with --live, /livez of the admin port) returns 200, and 1
otherwise: for containers and scripts.`,
  examples: ['health', 'health --env staging', 'health --live --admin-port 9465'],
  async action({ flags, switches, io }) {
    const config = loadConfig(flags, io.env);
    const { host, port, adminHost, adminPort } = config;
    if (switches.live && !adminPort) {
      throw new UsageError('--live asks the admin port: --admin-port must name it.');
    }
    const state = switches.live ? 'alive' : 'ready';
    const url = switches.live
      ? `${localUrl(adminHost, Number(adminPort))}/livez`
      : `${localUrl(host, port)}/readyz`;
    const problem = await problemOf(url, TIMEOUT_MS);
    if (problem === undefined) {
      io.stdout.write(`${state}\n`);
      return 0;
    }
    io.stderr.write(`petstore: the service is not ${state}: ${url} ${problem}.\n`);
    return 1;
  },
});

/** Why the response is not 200, or undefined if it is. */
export async function problemOf(url: string, timeoutMs: number): Promise<string | undefined> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) });
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode === 200 ? undefined : `returned ${response.statusCode}`;
  } catch (error) {
    const { message, cause = message } = error as Error;
    return `gave no response (${cause instanceof Error ? cause.message : String(cause)})`;
  }
}

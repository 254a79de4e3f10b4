import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { loadConfig, SETTINGS, type Config } from '../config.ts';
import { baseUrlOf, localUrl } from '../listen.ts';
import { integerFrom, UsageError, type Flags, type Variables } from '../setting.ts';
import { defineCommand } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

const { env } = SETTINGS;
const baseUrl = {
  ...SETTINGS['base-url'],
  defaultText: 'from host and port',
  description: 'where the service is',
};
const host = { ...SETTINGS.host, description: 'the address to ask' };
const port = { ...SETTINGS.port, ...integerFrom(1, 65_535), description: 'the port to ask' };
const adminHost = { ...SETTINGS['admin-host'], description: 'the address that --live asks' };
const adminPort = { ...SETTINGS['admin-port'], description: 'the admin port, which --live asks' };
/** Where --live does not ask. */
const NOT_LIVE = ['base-url', 'host', 'port'];

export const health = defineCommand({
  purpose: 'Ask the service whether it can serve requests',
  options: {
    'base-url': baseUrl,
    host,
    port,
    'admin-host': adminHost,
    'admin-port': adminPort,
    env,
  },
  switches: { live: 'ask whether the process runs (/livez), even if it cannot serve requests yet' },
  notes: `The exit code is 0 if /readyz (with --live, /livez of the admin port) returns 200, and 1
otherwise: for containers and scripts. PETSTORE_BASE_URL is used only without --host, --port, --env,
PETSTORE_HOST and PETSTORE_PORT: in a container it is the address of a proxy.`,
  examples: ['health', 'health --env staging', 'health --live --admin-port 9465'],
  async action({ flags, switches, io }) {
    const config = loadConfig(flags, io.env);
    const state = switches.live ? 'alive' : 'ready';
    const url = switches.live ? livezOf(config, flags) : readyzOf(config, flags, io.env);
    const problem = await problemOf(url, TIMEOUT_MS);
    if (problem === undefined) {
      io.stdout.write(`${state}\n`);
      return 0;
    }
    io.stderr.write(`petstore: the service is not ${state}: ${url} ${problem}.\n`);
    return 1;
  },
});

function readyzOf(config: Config, flags: Flags, variables: Variables): string {
  const site = isLocal(flags, variables)
    ? localUrl(config.host, config.port)
    : baseUrlOf(config, config.port).replace(/\/v1$/, '');
  return `${site}/readyz`;
}

/** The admin port responds while the start still waits for its database. */
function livezOf(config: Config, flags: Flags): string {
  const given = NOT_LIVE.find((name) => flags[name] !== undefined);
  if (given !== undefined) {
    throw new UsageError(`--live asks the admin port: name --admin-port instead of --${given}.`);
  }
  if (!config.adminPort) {
    const setting = `--admin-port (${SETTINGS['admin-port'].variable})`;
    throw new UsageError(`--live asks the admin port, and ${setting} names none: name its port.`);
  }
  return `${localUrl(config.adminHost, config.adminPort)}/livez`;
}

/** Whether an address of this machine was given. A flag takes precedence over every variable. */
function isLocal(flags: Flags, variables: Variables): boolean {
  if (flags['base-url'] !== undefined) return false;
  const isFlagged = [flags['host'], flags['port'], flags['env']].some((flag) => flag !== undefined);
  return isFlagged || [host, port].some(({ variable }) => Boolean(variables[variable]));
}

/** Why the response is not 200, or undefined if it is. */
export async function problemOf(url: string, timeoutMs: number): Promise<string | undefined> {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http');
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

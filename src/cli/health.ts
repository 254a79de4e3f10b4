import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { loadConfig } from '../config.ts';
import { localUrl } from '../listeners.ts';
import type { Io } from './command.ts';

/** Longer than `/readyz` takes when the store does not respond. */
const TIMEOUT_MS = 5_000;

/**
 * Asks the service of these settings whether it can serve requests. The exit code is 0 if `/readyz` is 200,
 * for containers and scripts.
 */
export async function health(args: string[], io: Io): Promise<number> {
  const { host, port } = loadConfig(args, io.env);
  const url = `${localUrl(host, port)}/readyz`;
  const problem = await problemOf(url);
  if (problem === undefined) {
    io.stdout.write('ready\n');
    return 0;
  }
  io.stderr.write(`petstore: the service is not ready: ${url} ${problem}.\n`);
  return 1;
}

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

import { SETTINGS, type Config, type SettingName } from './config.ts';
import { openServer, type HttpServer, type ServerParts } from './http/wire/server.ts';
import { UsageError } from './setting.ts';

/** For a client on the same machine. */
const LOOPBACK = '127.0.0.1';

/** The address of the service that has these settings, for a client on the same machine. */
export function localUrl(host: string, port: number): string {
  // Listening on every address does not tell which one a client should use.
  const reachable = host === '0.0.0.0' || host === '::' ? LOOPBACK : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** The URL of the interface for clients. Ends in /v1. */
export function baseUrlOf({ baseUrl, host }: Config, port: number): string {
  return baseUrl ?? `${localUrl(host, port)}/v1`;
}

const flag = (name: SettingName) => `--${name} (${SETTINGS[name].variable})`;

/** Listens, or throws a UsageError that names the wrong setting, which begins with the prefix. */
export async function listen(prefix: '' | 'admin-', parts: ServerParts): Promise<HttpServer> {
  try {
    return await openServer(parts);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const { host, port } = parts;
    const hostFlag = flag(`${prefix}host`);
    const portFlag = flag(`${prefix}port`);
    const noAddress = `${host} is not an address of this machine: ${hostFlag} must be one`;
    const messages: Record<string, string> = {
      EADDRINUSE: `port ${port} of ${host} is already in use: ${portFlag} must be a free port`,
      EACCES: `this user may not listen on port ${port}: ${portFlag} must be another port`,
      EADDRNOTAVAIL: noAddress,
      ENOTFOUND: noAddress,
      EAI_AGAIN: noAddress,
    };
    if (messages[code] === undefined) throw error;
    throw new UsageError(`${messages[code]}.`);
  }
}

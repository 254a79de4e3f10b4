import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { SETTINGS, type Config, type SettingName } from './config.ts';
import { openServer, type HttpServer, type ServerParts } from './http/wire/server.ts';
import { UsageError } from './setting.ts';

/** For a client on the same machine. */
const LOOPBACK = '127.0.0.1';

/** The address of the service that has these settings, for a client on the same machine. */
export function localUrl(host: string, port: number): string {
  // Listening on every address does not tell which one a client should use.
  return urlOf(isEveryAddress(host) ? LOOPBACK : host, port);
}

/**
 * The addresses for clients on other machines, if the service listens on every address. Empty where this process
 * may not list them: the systemd units allow it no netlink socket.
 */
export function networkUrls(host: string, port: number, list = networkInterfaces): string[] {
  if (!isEveryAddress(host)) return [];
  try {
    const found = Object.values(list()).flatMap((each) => each ?? []);
    return (
      found
        .filter(({ internal, family }) => !internal && (family === 'IPv4' || host === '::'))
        // Another machine has its own name for the network of a link-local address.
        .filter(({ address }) => !/^fe[89ab]/.test(address))
        .map(({ address }) => urlOf(address, port))
    );
  } catch {
    return [];
  }
}

/** Whether only clients on the same machine can reach what listens there. */
export function isLoopback(host: string): boolean {
  const isAddress = isIP(host) === 4 && host.startsWith('127.');
  return isAddress || host === '::1' || host.toLowerCase() === 'localhost';
}

const isEveryAddress = (host: string) => host === '0.0.0.0' || host === '::';

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
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

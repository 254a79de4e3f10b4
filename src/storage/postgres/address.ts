import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions, type SecureContextOptions } from 'node:tls';
import { StoreUnusable } from '../../domain/store.ts';

const DEFAULT_PORT = 5432;
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
/** The parameters that name a file, and the option of Node.js for its content. */
const TLS_FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const;
const EXAMPLE = 'postgres://user:password@host:5432/database';

export interface Host {
  host: string;
  port: number;
}

/** One database, on one of these hosts. */
export interface Address {
  hosts: Host[];
  user: string | undefined;
  password: string | undefined;
  database: string;
  tls: ConnectionOptions | false;
  /** For messages: without the user and the password. */
  shown: string;
}

// The URL class refuses several hosts separated by commas.
const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?([^/?]*)\/([^/?]+)(?:\?(.*))?$/;

export function parseAddress(url: string): Address {
  const match = URL_PARTS.exec(url);
  if (match === null) {
    throw new StoreUnusable(
      `the database URL is not the address of a PostgreSQL database: it must read ${EXAMPLE}, with more hosts separated by commas.`,
    );
  }
  const [, credentials = '', hostList = '', database = '', query = ''] = match;
  const [user, ...password] = credentials.split(':');
  const hosts = hostList.split(',').map(parseHost);
  const name = decode(database);
  return {
    hosts,
    user: user ? decode(user) : undefined,
    password: password.length > 0 ? decode(password.join(':')) : undefined,
    database: name,
    tls: parseTls(new URLSearchParams(query)),
    shown: `postgres://${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${name}`,
  };
}

function parseHost(text: string): Host {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match?.[1] === undefined || port < 1 || port > 65_535) {
    throw new StoreUnusable(
      `"${text}" in the database URL is not a host: it must read host or host:port, as in ${EXAMPLE}.`,
    );
  }
  return { host: decode(match[1].replaceAll(/[[\]]/g, '')), port };
}

/**
 * TLS as in libpq's `sslmode`, without `allow` and `prefer`: an attacker in between could make those two
 * continue in plain text.
 */
function parseTls(parameters: URLSearchParams): ConnectionOptions | false {
  const known = ['sslmode', ...Object.keys(TLS_FILES)];
  const unknown = [...parameters.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new StoreUnusable(
      `the database URL has unknown parameters (${unknown.join(', ')}): remove them; only ${known.join(', ')} are known.`,
    );
  }
  const given = parameters.get('sslmode') ?? 'disable';
  const mode = SSL_MODES.find((each) => each === given);
  if (mode === undefined) {
    throw new StoreUnusable(
      `sslmode=${given} in the database URL is not supported: it must be one of ${SSL_MODES.join(', ')}.`,
    );
  }
  return mode === 'disable' ? false : tlsOf(mode, readTlsFiles(parameters));
}

function tlsOf(mode: Exclude<SslMode, 'disable'>, files: SecureContextOptions): ConnectionOptions {
  if (mode === 'verify-full') return files;
  // The certificate is checked, the name in it is not.
  if (files.ca !== undefined) return { ...files, checkServerIdentity: () => undefined };
  if (mode === 'require') return { ...files, rejectUnauthorized: false };
  throw new StoreUnusable(
    'sslmode=verify-ca in the database URL needs sslrootcert=FILE, the certificate to trust; or use sslmode=verify-full.',
  );
}

/** Reads the files, and checks that they can be used: the driver would find out at each connection. */
function readTlsFiles(parameters: URLSearchParams): SecureContextOptions {
  const files: SecureContextOptions = {};
  for (const [name, option] of Object.entries(TLS_FILES)) {
    const file = parameters.get(name);
    if (file === null) continue;
    try {
      files[option] = readFileSync(file, 'utf8');
      createSecureContext(files);
    } catch (cause) {
      throw new StoreUnusable(
        `${name}=${file} in the database URL cannot be used (${(cause as Error).message}): it must name a file in PEM, and sslkey the key of sslcert.`,
        { cause },
      );
    }
  }
  return files;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreUnusable(
      'the database URL has a % that encodes nothing: write a literal % in a name or password as %25.',
    );
  }
}

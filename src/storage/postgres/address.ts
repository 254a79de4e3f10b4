import { createSecureContext, type ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parse } from 'pg-connection-string';
import { StoreUnusable } from '../../domain/store.ts';

const DEFAULT_PORT = 5432;
const EXAMPLE = 'postgres://user@host:5432/database (user:password@ in DATABASE_URL only)';
/** Without `allow` and `prefer`: an attacker in between could make those two continue in plain text. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];
/** The last two are for psql and pg_dump: the service uses the primary, and has timeouts of its own. */
const PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'application_name',
  'channel_binding',
  'connect_timeout',
  'target_session_attrs',
];

export interface Host {
  host: string;
  port: number;
}

/** One database, on one of these hosts. */
export interface Address {
  hosts: Host[];
  options: ClientConfig & { database: string };
  /** For messages: without the user and the password. */
  shown: string;
  /** Whether a network is crossed in plain text, and the URL does not say so. */
  isPlainByDefault: boolean;
}

/** The loopback address, or the folder of a socket. */
const LOCAL_HOST = /^(?:localhost|127\.[\d.]+|::1|\/.*)$/;

/**
 * Up to the hosts, the hosts, the database, the parameters. No `@` or `/` but those that separate the parts: with one
 * in a password, other programs would read other parts.
 */
const URL_PARTS =
  /^(postgres(?:ql)?:\/\/(?:[^@/?#\s]*@)?)([^@/?#\s]+)\/([^@/?#\s]+)(?:\?([^@#\s]*))?$/;

/** Reads a URL as libpq does, for one host or several. No message repeats what may be a password. */
export function parseAddress(url: string): Address {
  try {
    const [, start = '', hostList = '', name = '', query = ''] = URL_PARTS.exec(url) ?? [];
    // The parser reads a % that encodes nothing as itself, and libpq refuses it.
    decodeURIComponent(url);
    const database = decodeURIComponent(name);
    const parsed = hostList.split(',').map((host) => parse(`${start}${host}/`));
    const hosts = parsed.map(({ host, port }) => ({
      host: host || '',
      port: Number(port || DEFAULT_PORT),
    }));
    if (!database || hosts.some(({ host, port }) => !host || port === 0))
      throw new Error('no host');
    const [{ user, password } = {}] = parsed;
    const login = { user: user || undefined, password: password || undefined, database };
    const options = { ...sessionOptions(query), ...login };
    const isChosen = new URLSearchParams(query).has('sslmode');
    return {
      hosts,
      options,
      isPlainByDefault:
        options.ssl === false && !isChosen && !hosts.every(({ host }) => LOCAL_HOST.test(host)),
      shown: `postgres://${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`,
    };
  } catch (cause) {
    if (cause instanceof StoreUnusable) throw cause;
    throw new StoreUnusable(
      `the database URL cannot be read: it must read ${EXAMPLE}, with more hosts separated by commas; in a user or password write @ as %40, / as %2F and % as %25.`,
      { cause },
    );
  }
}

function sessionOptions(query: string): ClientConfig {
  const parameters = new URLSearchParams(query);
  // A part of a password may look like a parameter, so neither names nor values are repeated.
  if (![...parameters.keys()].every((name) => PARAMETERS.includes(name))) {
    throw new StoreUnusable(
      `the database URL has unknown parameters: only ${PARAMETERS.join(', ')} are known.`,
    );
  }
  const mode = parameters.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw new StoreUnusable(`sslmode in the database URL must be one of ${SSL_MODES.join(', ')}.`);
  }
  const binding = parameters.get('channel_binding');
  return {
    ssl: tlsOf(query),
    application_name: parameters.get('application_name') ?? 'petstore',
    // Used where the server offers it.
    enableChannelBinding: binding === 'require' || binding === 'prefer',
  };
}

/** Reads the files, and checks that they can be used: the driver would find out at each connection. */
function tlsOf(query: string): ConnectionOptions | false {
  try {
    const { ssl } = parse(`postgres://host/?${query}`, { useLibpqCompat: true });
    if (!ssl) return false;
    createSecureContext(ssl as ConnectionOptions);
    return ssl as ConnectionOptions;
  } catch (cause) {
    throw new StoreUnusable(
      `TLS cannot be used as the database URL says (${(cause as Error).message}): sslrootcert, sslcert and sslkey must name files in PEM, sslkey the key of sslcert, and sslmode=verify-ca needs sslrootcert.`,
      { cause },
    );
  }
}

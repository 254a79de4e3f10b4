import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  openSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request, type Agent } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newCertificate } from './certificate.ts';
import { findProgram } from './needs.ts';
import { freePort } from './free-port.ts';
import type { Received } from './test-service.ts';

const START_MS_MAX = 30_000;
const CHECK_MS_MAX = 30_000;
/** Proxies are often installed in folders that are only in the PATH of root. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`;

/** A file, because a pipe that is not read in time would stop the proxy. */
const LOG_FILE = 'proxy.log';

/** The values that replace those of the file in contrib/. The rest of the file is used unchanged. */
interface LocalValues {
  folder: string;
  port: number;
  upstreamPorts: readonly number[];
  certificate: string;
  key: string;
  /** The certificate and the key in one file. */
  both: string;
}

export interface ProxyProgram {
  name: string;
  /** The configuration, in contrib/. */
  file: string;
  program: string;
  /** The setting that ends an idle connection to the service, as it is in the file. */
  idleSetting: string;
  /** The settings that end a slow request and a slow response, as they are in the file. */
  timeouts: readonly string[];
  /** Whether a POST without a response closes the client's connection, if that was used before. */
  closesOnLostPost: boolean;
  replacements(values: LocalValues): [from: string, to: string][];
  /** Completes the configuration, if the file is only a part of one. */
  whole(text: string, values: LocalValues): string;
  checkFlags(config: string): string[];
  runFlags(config: string): string[];
}

const nginx: ProxyProgram = {
  name: 'nginx',
  file: 'nginx.conf',
  program: 'nginx',
  idleSetting: 'keepalive_timeout 60s',
  timeouts: ['client_header_timeout 10s', 'proxy_read_timeout 30s'],
  closesOnLostPost: false,
  replacements: ({ folder, port, upstreamPorts, certificate, key }) => [
    [
      'server 127.0.0.1:8080 max_fails=0;',
      upstreamPorts.map((upstream) => `server 127.0.0.1:${upstream} max_fails=0;`).join(' '),
    ],
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/ssl/petstore/pets.example.crt', certificate],
    ['/etc/ssl/petstore/pets.example.key', key],
    ['/var/log/nginx/petstore.log', join(folder, LOG_FILE)],
  ],
  whole: (text, { folder }) => `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    events {}
    http {
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n')}
      ${text}
    }`,
  checkFlags: (config) => ['-t', '-e', 'stderr', '-c', config],
  runFlags: (config) => ['-e', 'stderr', '-c', config],
};

const caddy: ProxyProgram = {
  name: 'Caddy',
  file: 'Caddyfile',
  program: 'caddy',
  idleSetting: 'keepalive 60s',
  timeouts: ['read_header 10s', 'read_body 30s', 'response_header_timeout 30s'],
  closesOnLostPost: false,
  replacements: ({ port, upstreamPorts, certificate, key }) => [
    ['127.0.0.1:8080', upstreamPorts.map((upstream) => `127.0.0.1:${upstream}`).join(' ')],
    ['\npets.example {', `\nhttps://127.0.0.1:${port} {\n\ttls ${certificate} ${key}`],
    ['\nhttps:// {', `\nhttps://:${port} {`],
    // Caddy would also listen on port 80 and on its own admin port.
    ['\n{\n', '\n{\n\tadmin off\n\tauto_https disable_redirects\n'],
  ],
  whole: (text) => text,
  checkFlags: (config) => ['validate', '--adapter', 'caddyfile', '--config', config],
  runFlags: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
};

/** The line of the configuration that names the service. */
const SERVER_LINE = '    server one 127.0.0.1:8080 check inter 1s fall 2 rise 1';

const haproxy: ProxyProgram = {
  name: 'HAProxy',
  file: 'haproxy.cfg',
  program: 'haproxy',
  idleSetting: 'timeout http-keep-alive 60s',
  timeouts: ['timeout http-request 15s', 'timeout server 30s'],
  closesOnLostPost: true,
  replacements: ({ port, upstreamPorts, both }) => [
    [
      SERVER_LINE,
      upstreamPorts
        .map((upstream, index) =>
          SERVER_LINE.replace('one', `s${index}`).replace('8080', String(upstream)),
        )
        .join('\n'),
    ],
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/ssl/petstore/pets.example.pem', both],
    // Only root may become another user.
    ['    user haproxy\n    group haproxy\n', ''],
  ],
  whole: (text) => text,
  checkFlags: (config) => ['-c', '-f', config],
  runFlags: (config) => ['-db', '-f', config],
};

export const PROXY_PROGRAMS: readonly ProxyProgram[] = [nginx, caddy, haproxy];

export function isInstalled({ program }: ProxyProgram): boolean {
  return findProgram(program) !== undefined;
}

export interface ThroughProxy {
  method?: string;
  headers?: Record<string, string>;
  agent?: Agent | false;
  signal?: AbortSignal;
}

/** A proxy in front of ports of this machine, configured by its file in contrib/. */
export class Proxy {
  readonly url: string;
  /** The certificate that a client must trust. */
  readonly certificate: string;
  readonly #kind: ProxyProgram;
  readonly #values: LocalValues;
  readonly #config: string;
  #child: ChildProcess | undefined;

  private constructor(
    kind: ProxyProgram,
    values: LocalValues,
    certificate: string,
    config: string,
  ) {
    this.url = `https://127.0.0.1:${values.port}`;
    this.certificate = certificate;
    this.#kind = kind;
    this.#values = values;
    this.#config = config;
  }

  static async configure(
    kind: ProxyProgram,
    upstreamPorts: readonly number[],
    { idleSetting = kind.idleSetting, timeout }: { idleSetting?: string; timeout?: string } = {},
  ): Promise<Proxy> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-proxy-'));
    const file = (name: string, text: string) => {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    };
    const { certificate, key } = newCertificate();
    const values = {
      folder,
      port: await freePort(),
      upstreamPorts,
      certificate: file('certificate.crt', certificate),
      key: file('certificate.key', key),
      both: file('certificate.pem', certificate + key),
    };
    mkdirSync(join(folder, 'home'));
    let text = readFileSync(new URL(`../contrib/${kind.file}`, import.meta.url), 'utf8');
    const timeouts = kind.timeouts.map((each) => [each, each.replace(/\d+s/, timeout ?? '$&')]);
    const replaced = [...kind.replacements(values), [kind.idleSetting, idleSetting], ...timeouts];
    for (const [from, to] of replaced) {
      if (from === undefined || to === undefined || !text.includes(from)) {
        throw new Error(`contrib/${kind.file} no longer has "${from}": adapt harness/proxies.ts.`);
      }
      text = text.replace(from, () => to);
    }
    return new Proxy(kind, values, certificate, file(kind.file, kind.whole(text, values)));
  }

  get port(): number {
    return this.#values.port;
  }

  /** What the proxy has logged so far. */
  get log(): string {
    return readFileSync(join(this.#values.folder, LOG_FILE), 'utf8');
  }

  /** Checks the configuration with the program itself. */
  check(): { code: number | null; output: string } {
    const checked = spawnSync(this.#kind.program, this.#kind.checkFlags(this.#config), {
      env: this.#env(),
      timeout: CHECK_MS_MAX,
      encoding: 'utf8',
    });
    return { code: checked.status, output: checked.stdout + checked.stderr };
  }

  async start(): Promise<void> {
    const output = openSync(join(this.#values.folder, LOG_FILE), 'a');
    const child = spawn(this.#kind.program, this.#kind.runFlags(this.#config), {
      env: this.#env(),
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    this.#child = child;
    const deadline = Date.now() + START_MS_MAX;
    while (!(await isListening(this.#values.port))) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`${this.#kind.name} does not listen: ${this.log}`);
      }
      await sleep(20);
    }
  }

  /** Sends one request through the proxy, without retries. */
  send(path: string, body: string | undefined, options: ThroughProxy): Promise<Received> {
    return new Promise((resolve, reject) => {
      const sent = request(this.url + path, { ca: this.certificate, ...options }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, text, json: () => JSON.parse(text) as unknown });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#values.folder, { recursive: true, force: true });
  }

  #env(): Record<string, string> {
    return { PATH, HOME: join(this.#values.folder, 'home') };
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

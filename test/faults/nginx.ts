import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { newCertificate } from '../../harness/certificate.ts';
import { freePort } from '../../harness/free-port.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const CONFIGURATION = readFileSync(new URL('../../contrib/nginx.conf', import.meta.url), 'utf8');
/** Daemons are often installed in a folder that is only in the PATH of root. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;

const serverLine = (port: number) => `server 127.0.0.1:${port} max_fails=0;`;

export interface Nginx {
  /** Of plain HTTP, which only tests use. */
  port: number;
  tlsPort: number;
  /** The certificate that a client must trust. */
  certificate: string;
  log(): string;
}

/** Runs nginx with contrib/nginx.conf in front of ports of this machine. Of the file, only these texts are replaced. */
export async function startNginx(
  t: TestContext,
  upstreamPorts: readonly number[],
  changes: Readonly<Record<string, string>> = {},
): Promise<Nginx> {
  const folder = temporaryFolder(t);
  const file = (name: string, text = '') => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const { certificate, key } = newCertificate();
  const [port, tlsPort] = [await freePort(), await freePort()];
  const log = file('log');
  const text = replace(CONFIGURATION, {
    [serverLine(8080)]: upstreamPorts.map(serverLine).join(' '),
    'listen 443 ssl http2;': `listen 127.0.0.1:${tlsPort} ssl http2; listen 127.0.0.1:${port};`,
    '/etc/ssl/petstore/pets.example.crt': file('certificate', certificate),
    '/etc/ssl/petstore/pets.example.key': file('key', key),
    '/var/log/nginx/petstore.log': log,
    ...changes,
  });
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  mkdirSync(join(folder, 'temporary'));
  const paths = folders.map((name) => `${name}_temp_path ${folder}/temporary/${name};`);
  const configuration = `daemon off; master_process off; pid ${folder}/pid; events {}
    http { ${paths.join(' ')} ${text} }`;
  const errors = file('errors');
  const flags = ['-e', errors, '-c', file('nginx.conf', configuration)];
  const child = spawn('nginx', flags, { env: { PATH }, stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until('nginx listens', () => {
    if (child.exitCode !== null) throw new Error(readFileSync(errors, 'utf8'));
    return isListening(port);
  });
  return { port, tlsPort, certificate, log: () => readFileSync(log, 'utf8') };
}

function replace(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`contrib/nginx.conf has no "${from}"`);
    return changed.replace(from, () => to);
  }, text);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

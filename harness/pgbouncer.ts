// Starts PgBouncer in front of the PostgreSQL of a test, if it is installed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { findProgram, needsProgram } from './needs.ts';
import { TEST_PASSWORD, unprivilegedUser, type PostgresServer } from './postgres-server.ts';

const READY_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 20;
const PROGRAM = findProgram('pgbouncer');

export const PGBOUNCER_MISSING = needsProgram('pgbouncer');

export interface PgBouncer {
  port: number;
  url(database?: string): string;
  /** Takes these passwords from now on. */
  setUsers(users: Record<string, string>): Promise<void>;
  close(): Promise<void>;
}

/** Starts PgBouncer with these lines of pgbouncer.ini, on a free port unless they name one. */
export async function startPgBouncer(
  server: PostgresServer,
  settings: Record<string, string>,
  users: Record<string, string> = { petstore: TEST_PASSWORD },
): Promise<PgBouncer> {
  if (PROGRAM === undefined) throw new Error('pgbouncer is not installed');
  const folder = await mkdtemp(join(tmpdir(), 'petstore-pgbouncer-'));
  // PgBouncer refuses to run as root, and its user must be able to read the folder.
  const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
  await chmod(folder, 0o755);
  const port = Number(settings['listen_port'] ?? (await freePort()));
  const userFile = join(folder, 'users');
  const writeUsers = (all: Record<string, string>) => {
    const passwords = Object.entries(all).map(([name, password]) => `"${name}" "${password}"\n`);
    return writeFile(userFile, passwords.join(''));
  };
  await writeUsers(users);
  const settingsFile = join(folder, 'pgbouncer.ini');
  await writeFile(settingsFile, settingsText(server.port, port, userFile, settings));
  const child = spawn(PROGRAM, ['-q', settingsFile], { ...user, stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const ended = once(child, 'exit');
  await untilListening(port);
  return {
    port,
    url: (database) => server.url(database).replace(`:${server.port}/`, `:${port}/`),
    async setUsers(all) {
      await writeUsers(all);
      child.kill('SIGHUP');
    },
    async close() {
      process.off('exit', end);
      end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function settingsText(
  serverPort: number,
  port: number,
  userFile: string,
  settings: Record<string, string>,
): string {
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'plain',
    auth_file: userFile,
    ...settings,
  };
  return [
    `[databases]\n* = host=127.0.0.1 port=${serverPort}\n[pgbouncer]`,
    ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
    '',
  ].join('\n');
}

async function untilListening(port: number): Promise<void> {
  const until = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (performance.now() > until) throw new Error('PgBouncer did not start', { cause: error });
      await sleep(READY_POLL_MS);
    } finally {
      socket.destroy();
    }
  }
}

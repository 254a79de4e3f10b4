// A real PostgreSQL for tests and drills, on a free port and in a temporary folder. It ends with the process that
// started it, even if that process is killed.

import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { emptyCluster, postgresBinaries, type Owner } from './postgres-binaries.ts';

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 50;
const SESSIONS_END_TIMEOUT_MS = 20_000;
export const TEST_PASSWORD = 'a-password-for-tests';

/** Ends PostgreSQL and removes its folder when standard input closes, that is, when the parent process ends. */
const WATCHED =
  'folder=$1; shift; "$@" & server=$!; read -r line; kill -QUIT $server; wait; rm -rf "$folder"';

export interface PostgresOptions {
  /** Lines of postgresql.conf. They override those of this file. */
  settings?: Record<string, string>;
  /** If false, commits do not wait for the disk. That is safe while the machine itself keeps running. */
  isDurable?: boolean;
  /** The folder of another PostgreSQL, for programs such as pg_dump, which must not be older than the server. */
  installation?: string | undefined;
}

export class PostgresServer {
  readonly port: number;
  readonly folder: string;
  readonly #binaries: string;
  readonly #user: Owner | undefined;
  readonly #settings: Record<string, string>;
  #process: ChildProcess | undefined;
  #databases = 0;
  readonly #onExit = () => this.thaw();

  private constructor(start: {
    port: number;
    folder: string;
    binaries: string;
    user: Owner | undefined;
    settings: Record<string, string>;
  }) {
    this.port = start.port;
    this.folder = start.folder;
    this.#binaries = start.binaries;
    this.#user = start.user;
    this.#settings = start.settings;
    process.once('exit', this.#onExit);
  }

  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare(options);
    await server.start();
    return server;
  }

  /**
   * Starts a standby of `primary`, and every commit waits for it. The primary is stopped while its folder is
   * copied, because that is the simplest way to a consistent copy.
   */
  static async startStandby(primary: PostgresServer): Promise<PostgresServer> {
    const standby = await PostgresServer.#prepare(
      { settings: primary.#settings, installation: primary.#binaries },
      primary,
    );
    await primary.start();
    await standby.start();
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await primary.query('SELECT pg_reload_conf()');
    for (;;) {
      const rows = await primary.query('SELECT sync_state FROM pg_stat_replication');
      if (rows[0]?.[0] === 'sync') return standby;
      await sleep(READY_POLL_MS);
    }
  }

  static async #prepare(
    { settings = {}, isDurable = false, installation }: PostgresOptions,
    primary?: PostgresServer,
  ) {
    const binaries = installation ?? (await postgresBinaries());
    const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
    const folder = await mkdtemp(join(tmpdir(), 'petstore-postgres-'));
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    await chmod(folder, 0o700);
    const server = new PostgresServer({
      port: await freePort(),
      folder,
      binaries,
      user,
      settings: {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        max_connections: '100',
        shared_buffers: '32MB',
        log_checkpoints: 'off',
        // Without fsync, a crash of PostgreSQL loses nothing; only a crash of the machine does.
        ...(isDurable ? {} : { fsync: 'off', full_page_writes: 'off' }),
        ...settings,
      },
    });
    await (primary === undefined
      ? server.#copy(await emptyCluster(binaries, user, TEST_PASSWORD))
      : server.#copyOf(primary));
    return server;
  }

  async #copy(data: string): Promise<void> {
    await promisify(execFile)('cp', ['-a', data, this.data], { ...this.#user });
  }

  async #copyOf(primary: PostgresServer): Promise<void> {
    await primary.stop('fast');
    await this.#copy(primary.data);
    const connection = `host=127.0.0.1 port=${primary.port} user=petstore password=${TEST_PASSWORD}`;
    await this.write('data/standby.signal', '');
    await this.write('data/postgresql.auto.conf', `primary_conninfo = '${connection}'\n`);
  }

  /** Writes a file into the folder of the server, owned by the user of the server. */
  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.folder, file), text, { mode: 0o600 });
    if (this.#user !== undefined) {
      await chown(join(this.folder, file), this.#user.uid, this.#user.gid);
    }
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  url(database = 'postgres', password = TEST_PASSWORD): string {
    return `postgres://petstore:${password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts the server on its port and resolves when it responds to queries. */
  async start(): Promise<void> {
    const settings = Object.entries({ ...this.#settings, port: String(this.port) });
    const postgres = [
      join(this.#binaries, 'bin', 'postgres'),
      '-D',
      this.data,
      ...settings.map(([name, value]) => `--${name}=${value}`),
    ];
    const log = openSync(join(this.folder, 'log'), 'a');
    const child = spawn('/bin/sh', ['-c', WATCHED, 'sh', this.folder, ...postgres], {
      ...this.#user,
      cwd: this.folder,
      env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
      stdio: ['pipe', log, log],
      // Ctrl-C must reach the test but not the database.
      detached: true,
    });
    closeSync(log);
    this.#process = child;
    await this.#untilReady();
    child.unref();
  }

  async #untilReady(): Promise<void> {
    const until = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      try {
        await this.query('SELECT 1');
        return;
      } catch (error) {
        if (performance.now() > until) {
          const log = readFileSync(join(this.folder, 'log'), 'utf8');
          throw new Error(`PostgreSQL did not start:\n${log.slice(-4_000)}`, { cause: error });
        }
        await sleep(READY_POLL_MS);
      }
    }
  }

  /** Runs SQL as the administrator, on a new connection. */
  async query(sql: string, database = 'postgres'): Promise<unknown[][]> {
    const client = new Client({ connectionString: this.url(database) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      const result = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
      return result.rows;
    } finally {
      await client.end();
    }
  }

  /** Creates a database, empty or a copy of another one without sessions, and returns its name. */
  async createDatabase(template = 'template1'): Promise<string> {
    this.#databases += 1;
    const name = `test_${process.pid}_${this.#databases}`;
    // Copying files takes half the processor time of the default strategy, which writes every block to the log.
    await this.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
    return name;
  }

  /** Resolves when the program under test has no session in a database. */
  async waitForNoSession(database: string): Promise<void> {
    const until = performance.now() + SESSIONS_END_TIMEOUT_MS;
    const sessions = `SELECT FROM pg_stat_activity
                      WHERE application_name = 'petstore' AND datname = '${database}'`;
    while ((await this.query(sessions)).length > 0) {
      if (performance.now() > until) throw new Error(`sessions are left in ${database}`);
      await sleep(READY_POLL_MS);
    }
  }

  /** Ends every session of the program under test, and returns their number. */
  async endSessions(): Promise<number> {
    const ended = await this.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'`,
    );
    return ended.length;
  }

  /** Ends every process of the server with SIGKILL, as the kernel does when memory runs out. */
  async kill(): Promise<void> {
    const postmaster = this.#postmaster();
    const pids = [postmaster, ...childrenOf(postmaster)];
    for (const pid of pids) this.#signal(pid, 'SIGKILL');
    this.#process?.kill('SIGKILL');
    const isAlive = ({ pid, isZombie }: Process) => pids.includes(pid) && !isZombie;
    while (listProcesses().some(isAlive)) await sleep(READY_POLL_MS);
    // The file names a process that may remain as a zombie. The next start would take that for a running server.
    await rm(join(this.data, 'postmaster.pid'), { force: true });
  }

  /** Stops the server: `fast` ends all sessions and shuts down cleanly, `immediate` is a crash. */
  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    this.#signal(this.#postmaster(), mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    const until = performance.now() + READY_TIMEOUT_MS;
    while (this.#isRunning()) {
      if (performance.now() > until) throw new Error('PostgreSQL did not stop');
      await sleep(READY_POLL_MS);
    }
    // The shell that waits for standard input to close is left. It must not remove the folder of the next start.
    this.#process?.kill('SIGKILL');
  }

  /** Suspends every process of the server: connections stay open, but there are no responses. */
  freeze(): void {
    const postmaster = this.#postmaster();
    this.#signal(postmaster, 'SIGSTOP');
    for (const child of childrenOf(postmaster)) this.#signal(child, 'SIGSTOP');
  }

  thaw(): void {
    const postmaster = this.#postmaster();
    for (const child of childrenOf(postmaster)) this.#signal(child, 'SIGCONT');
    this.#signal(postmaster, 'SIGCONT');
  }

  async close(): Promise<void> {
    process.off('exit', this.#onExit);
    const child = this.#process;
    if (child?.exitCode === null && child.signalCode === null) {
      child.ref();
      const exited = once(child, 'exit');
      child.stdin?.end();
      await exited;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  #postmaster(): number | undefined {
    try {
      return Number.parseInt(readFileSync(join(this.data, 'postmaster.pid'), 'utf8'), 10);
    } catch {
      return undefined;
    }
  }

  #isRunning(): boolean {
    return this.#signal(this.#postmaster(), 0);
  }

  #signal(pid: number | undefined, signal: NodeJS.Signals | 0): boolean {
    if (pid === undefined) return false;
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  }
}

/** The user `nobody`, which every system has. PostgreSQL refuses to run as root. */
export async function unprivilegedUser(): Promise<Owner> {
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

async function idOf(flag: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [flag, 'nobody']);
  return Number(stdout);
}

function childrenOf(parent: number | undefined): number[] {
  return parent === undefined
    ? []
    : listProcesses()
        .filter((each) => each.parent === parent)
        .map(({ pid }) => pid);
}

interface Process {
  pid: number;
  parent: number;
  /** It has ended, but its parent has not waited for it yet. */
  isZombie: boolean;
}

/** From /proc on Linux, where `ps` may be missing, and from `ps` elsewhere. */
export function listProcesses(hasProc = existsSync('/proc/self/stat')): Process[] {
  const lines = hasProc
    ? readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(readStat)
    : spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).stdout.split('\n');
  return lines.flatMap((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/);
    return pid === ''
      ? []
      : { pid: Number(pid), parent: Number(parent), isZombie: state[0] === 'Z' };
  });
}

/** In the order of `ps`; empty if the process has ended meanwhile. */
function readStat(pid: string): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain spaces. The state and the parent follow it.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${pid} ${parent} ${state}`;
  } catch {
    return '';
  }
}

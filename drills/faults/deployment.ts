import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { verifyPostgres } from '../../src/storage/tools/postgres-verify.ts';
import { verifySqlite } from '../../src/storage/tools/sqlite-verify.ts';
import { Link } from '../../harness/link.ts';
import { startPgBouncer, type PgBouncer } from '../../harness/pgbouncer.ts';
import { PostgresServer, TEST_PASSWORD } from '../../harness/postgres-server.ts';
import type { Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { mountSmallDisk } from '../../harness/small-disk.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';

export type StoreName = 'SQLite' | 'PostgreSQL';

const PROCESSES: Record<StoreName, number> = { SQLite: 2, PostgreSQL: 3 };
const DISK_KIBIBYTES = 64 * 1024;
/** Each process uses up to 10 connections, and a few more while it starts. */
const SESSION_MODE = { pool_mode: 'session', default_pool_size: '60' };
const ATTEMPTS_MAX = 10;
const NO_DATABASE = /no response in time|cannot be reached/;

export interface Setup {
  store: StoreName;
  processes?: number;
  /** More flags of `petstore serve`. */
  flags?: readonly string[];
  nodeFlags?: readonly string[];
  /** Lines of postgresql.conf. */
  settings?: Record<string, string>;
  /** Commits of PostgreSQL do not wait for the standby. */
  isAsynchronous?: boolean;
  /** What the store stands on, or what stands before it. */
  with?: 'a small disk' | 'a link' | 'PgBouncer' | 'a standby';
}

/** Several processes of the service on one store. */
export class Deployment implements AsyncDisposable {
  readonly key = newSecret('production', randomBytes);
  services: ServiceProcess[] = [];
  readonly #setup: Setup;
  readonly #stack = new AsyncDisposableStack();
  /** Of the embedded store, and for what a fault sets aside. */
  folder = '';
  #postgres: PostgresServer | undefined;
  #standby: PostgresServer | undefined;
  #link: Link | undefined;
  #pooler: PgBouncer | undefined;

  private constructor(setup: Setup) {
    this.#setup = setup;
  }

  static async open(setup: Setup): Promise<Deployment> {
    const deployment = new Deployment(setup);
    try {
      await deployment.#prepare();
      const count = setup.processes ?? PROCESSES[setup.store];
      deployment.services = [await deployment.#start()];
      const others = Array.from({ length: count - 1 }, () => deployment.#start());
      deployment.services.push(...(await Promise.all(others)));
      return deployment;
    } catch (error) {
      await deployment[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { store, settings = {}, isAsynchronous = false, with: part } = this.#setup;
    this.folder = this.#stack.use(await disposableFolder()).path;
    if (part === 'a small disk') {
      const { disk, unmount } = mountSmallDisk(DISK_KIBIBYTES);
      process.once('exit', unmount);
      this.#stack.defer(() => void process.off('exit', unmount));
      this.#stack.defer(unmount);
      this.folder = disk;
    }
    if (store === 'SQLite') return;
    const postgres = await PostgresServer.start({ isDurable: true, settings });
    this.#postgres = postgres;
    this.#stack.defer(() => postgres.close());
    if (part === 'a link') this.#link = this.#stack.use(await Link.open(postgres.port));
    if (part === 'PgBouncer') {
      this.#pooler = await startPgBouncer(postgres, SESSION_MODE);
      this.#stack.defer(() => this.#pooler?.close());
    }
    if (part === 'a standby') {
      const standby = await PostgresServer.startStandby(postgres);
      this.#standby = standby;
      if (isAsynchronous) await postgres.query('ALTER SYSTEM RESET synchronous_standby_names');
      await postgres.query('SELECT pg_reload_conf()');
      this.#stack.defer(() => standby.close());
    }
  }

  async #start(): Promise<ServiceProcess> {
    const { flags = [], nodeFlags } = this.#setup;
    const [key, data, database] = [this.key, this.folder, this.database];
    const options = { key, data, database, nodeFlags, flags: ['--log', 'error', ...flags] };
    return untilDatabase(() => ServiceProcess.start(options));
  }

  /** Where the service connects to. Undefined for the embedded store. */
  get database(): string | undefined {
    const url = this.#pooler?.url() ?? this.#postgres?.url();
    const ports = [this.#link?.port ?? this.#postgres?.port, this.#standby?.port];
    if (url === undefined || this.#pooler !== undefined) return url;
    const hosts = ports.flatMap((port) => (port === undefined ? [] : [`127.0.0.1:${port}`]));
    return `postgres://petstore:${TEST_PASSWORD}@${hosts.join(',')}/postgres`;
  }

  /** With these a command finds the store. */
  get storeFlags(): string[] {
    const { database } = this;
    return database === undefined ? ['--data', this.folder] : ['--database', database];
  }

  /** Of the embedded store. */
  get file(): string {
    return join(this.folder, 'production', 'petstore.sqlite');
  }

  get postgres(): PostgresServer {
    return existing(this.#postgres);
  }

  get standby(): PostgresServer {
    return existing(this.#standby);
  }

  get link(): Link {
    return existing(this.#link);
  }

  pickService(random: Random): ServiceProcess {
    return random.pick(this.services);
  }

  pickOrigin(random: Random): string {
    return new URL(this.pickService(random).baseUrl).origin;
  }

  /** Starts another process in the place of one that has ended. */
  async replace(service: ServiceProcess): Promise<void> {
    const index = this.services.indexOf(service);
    this.services[index] = await this.#start();
  }

  /** PgBouncer dies, and starts again after this time. */
  async restartPooler(awayMs: number): Promise<void> {
    const pooler = existing(this.#pooler);
    await pooler.close();
    await sleep(awayMs);
    const listening = { ...SESSION_MODE, listen_port: String(pooler.port) };
    this.#pooler = await startPgBouncer(this.postgres, listening);
  }

  /** What `petstore verify` finds. */
  async verify(): Promise<string[]> {
    const { database } = this;
    const { problems } =
      database === undefined
        ? verifySqlite(this.file)
        : await untilDatabase(() => verifyPostgres(database));
    return problems.map((problem) => `verify: ${problem}`);
  }

  /** What each process has logged last. */
  logged(): string {
    return this.services.map((service) => service.stderr().trim().split('\n').at(-1)).join('; ');
  }

  /** Returns the violations of the processes, which must all still run. */
  async stop(): Promise<string[]> {
    const ends = await Promise.all(this.services.map((service) => service.stop()));
    return ends.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.services.map((service) => service.kill()));
    await this.#stack.disposeAsync();
  }
}

function existing<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the setup of this fault has no such part');
  return part;
}

/** On a busy machine PostgreSQL may not respond in time. A supervisor starts the service again. */
async function untilDatabase<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !NO_DATABASE.test(String(error))) throw error;
    }
  }
}

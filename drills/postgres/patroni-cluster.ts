// Two nodes of Patroni with etcd, in a temporary folder, run by the programs installed on this machine.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort, TEST_PASSWORD, unprivilegedUser } from '../../test/postgres-server.ts';

const START_MS_MAX = 120_000;
const POLL_MS = 20;
const POSTGRES_FOLDER = '/usr/lib/postgresql';
const PROGRAMS = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd' };

/** Says which program is missing here, or returns undefined if a cluster can run. */
export function findMissingProgram(): string | undefined {
  const missing = Object.entries(PROGRAMS).find(([, file]) => !existsSync(file));
  if (missing !== undefined) return `${missing[0]} is not installed`;
  return existsSync(POSTGRES_FOLDER)
    ? undefined
    : 'PostgreSQL is not installed in /usr/lib/postgresql';
}

export interface Node {
  port: number;
  folder: string;
  patroni: ChildProcess;
}

export class PatroniCluster {
  readonly nodes: Node[] = [];
  readonly #folder: string;
  readonly #user: { uid: number; gid: number } | undefined;
  #etcd: ChildProcess | undefined;

  private constructor(folder: string, user: { uid: number; gid: number } | undefined) {
    this.#folder = folder;
    this.#user = user;
  }

  /** Resolves when one node is the leader and the other is its synchronous standby. */
  static async start(): Promise<PatroniCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-patroni-'));
    const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const cluster = new PatroniCluster(folder, user);
    try {
      const etcdPort = await cluster.#startEtcd();
      await cluster.#startNode('first', etcdPort);
      await cluster.#until(async () => (await cluster.leader()) !== undefined);
      await cluster.#startNode('second', etcdPort);
      await cluster.#until(async () => {
        const leader = await cluster.leader();
        const sql = 'SELECT sync_state FROM pg_stat_replication';
        return leader !== undefined && (await query(leader, sql)) === 'sync';
      });
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  }

  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`;
  }

  async leader(): Promise<Node | undefined> {
    for (const node of this.nodes) if (await isWritable(node)) return node;
    return undefined;
  }

  async untilWritable(node: Node): Promise<void> {
    await this.#until(() => isWritable(node));
  }

  async close(): Promise<void> {
    for (const { patroni } of this.nodes) patroni.kill('SIGKILL');
    for (const { folder } of this.nodes) endPostgres(folder);
    if (this.#etcd !== undefined) {
      this.#etcd.kill('SIGKILL');
      await once(this.#etcd, 'exit');
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  async #startEtcd(): Promise<number> {
    const [client, peer] = [await freePort(), await freePort()];
    const address = `http://127.0.0.1:${client}`;
    const data = join(this.#folder, 'etcd');
    const flags = {
      'data-dir': data,
      'listen-client-urls': address,
      'advertise-client-urls': address,
      'listen-peer-urls': `http://127.0.0.1:${peer}`,
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    this.#etcd = this.#spawn(PROGRAMS.etcd, args);
    return client;
  }

  async #startNode(name: string, etcdPort: number): Promise<void> {
    const folder = join(this.#folder, name);
    await mkdir(folder, { mode: 0o700 });
    if (this.#user !== undefined) await chown(folder, this.#user.uid, this.#user.gid);
    const port = await freePort();
    const file = join(this.#folder, `${name}.json`);
    const config = configOf({ name, folder, port, restPort: await freePort(), etcdPort });
    // Patroni reads YAML, and JSON is valid YAML.
    await writeFile(file, JSON.stringify(config));
    this.nodes.push({ port, folder, patroni: this.#spawn(PROGRAMS.patroni, [file]) });
  }

  #spawn(program: string, args: string[]): ChildProcess {
    const env = { LC_ALL: 'C', PATH: '/usr/bin:/bin', HOME: this.#folder };
    return spawn(program, args, { ...this.#user, cwd: this.#folder, env, stdio: 'ignore' });
  }

  async #until(isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_MS_MAX;
    while (!(await isTrue())) {
      if (performance.now() > deadline) {
        throw new Error(`the cluster was not ready within ${START_MS_MAX} ms`);
      }
      await sleep(POLL_MS);
    }
  }
}

function configOf(node: {
  name: string;
  folder: string;
  port: number;
  restPort: number;
  etcdPort: number;
}) {
  const account = { username: 'petstore', password: TEST_PASSWORD };
  const versions = readdirSync(POSTGRES_FOLDER).toSorted((a, b) => Number(b) - Number(a));
  return {
    scope: 'petstore',
    name: node.name,
    restapi: {
      listen: `127.0.0.1:${node.restPort}`,
      connect_address: `127.0.0.1:${node.restPort}`,
    },
    etcd3: { host: `127.0.0.1:${node.etcdPort}` },
    bootstrap: {
      // The shortest times that Patroni allows.
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        // Not strict: after a failover the remaining node must acknowledge commits alone.
        synchronous_mode: true,
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: `127.0.0.1:${node.port}`,
      connect_address: `127.0.0.1:${node.port}`,
      data_dir: join(node.folder, 'data'),
      bin_dir: join(POSTGRES_FOLDER, versions[0] ?? '', 'bin'),
      authentication: { superuser: account, replication: account },
      parameters: { unix_socket_directories: node.folder },
      pg_hba: ['host all all 127.0.0.1/32 md5', 'host replication all 127.0.0.1/32 md5'],
    },
  };
}

async function isWritable(node: Node): Promise<boolean> {
  return query(node, 'SELECT NOT pg_is_in_recovery()').then(
    (value) => value === true,
    () => false,
  );
}

/** Returns the first value of the first row. */
async function query({ port }: Node, text: string): Promise<unknown> {
  const client = new Client({
    connectionString: `postgres://petstore:${TEST_PASSWORD}@127.0.0.1:${port}/postgres`,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

/** PostgreSQL keeps running without its Patroni, so it is stopped separately. */
function endPostgres(folder: string): void {
  try {
    const pid = Number.parseInt(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10);
    process.kill(pid, 'SIGQUIT');
  } catch {
    // PostgreSQL never started, or has already ended.
  }
}

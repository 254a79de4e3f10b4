// A cluster of Patroni with etcd, in a temporary folder, run by the programs installed on this machine.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort, TEST_PASSWORD, unprivilegedUser } from '../../test/support/postgres-server.ts';

const READY_MS_MAX = 180_000;
const POLL_MS = 50;
/** Where Debian installs PostgreSQL, one folder per version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql';
/** The configuration of a node, with the shortest times that Patroni allows. */
const TEMPLATE = new URL('./node.json.template', import.meta.url);
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
  name: string;
  port: number;
  restPort: number;
  folder: string;
  /** The configuration of Patroni. */
  file: string;
  patroni: ChildProcess;
}

export class PatroniCluster {
  readonly nodes: Node[] = [];
  readonly #folder: string;
  readonly #user: { uid: number; gid: number } | undefined;
  readonly #isSynchronous: boolean;
  #etcd: ChildProcess | undefined;
  readonly #onExit = () => this.#end();

  private constructor(
    folder: string,
    user: { uid: number; gid: number } | undefined,
    isSynchronous: boolean,
  ) {
    this.#folder = folder;
    this.#user = user;
    this.#isSynchronous = isSynchronous;
    process.once('exit', this.#onExit);
  }

  /** Resolves when one node is the leader and all others follow it. */
  static async start(nodes: number, isSynchronous: boolean): Promise<PatroniCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-patroni-'));
    const user = process.getuid?.() === 0 ? await unprivilegedUser() : undefined;
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    const cluster = new PatroniCluster(folder, user, isSynchronous);
    try {
      const etcdPort = await cluster.#startEtcd();
      for (let index = 1; index <= nodes; index += 1) {
        await cluster.#addNode(`node${index}`, etcdPort);
        await cluster.until('a leader', async () => (await cluster.leader()) !== undefined);
      }
      await cluster.untilComplete();
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

  /** The node that Patroni considers the leader. An old leader that still accepts writes is not. */
  async leader(): Promise<Node | undefined> {
    for (const node of this.nodes) {
      if (await isOk(`http://127.0.0.1:${node.restPort}/primary`)) return node;
    }
    return undefined;
  }

  /** Resolves when the leader has all other nodes as standbys, one of them synchronous if that is configured. */
  async untilComplete(): Promise<void> {
    const sql = `SELECT count(*)::int FROM pg_stat_replication
                 WHERE state = 'streaming' AND application_name LIKE 'node%'`;
    await this.until('all standbys', async () => {
      const leader = await this.leader();
      if (leader === undefined) return false;
      const standbys = await query(leader, sql).catch(() => undefined);
      const isAll = standbys === this.nodes.length - 1;
      return isAll && (!this.#isSynchronous || (await hasSynchronousStandby(leader)));
    });
  }

  /** Kills Patroni, and also PostgreSQL unless only Patroni is to be killed. */
  kill(node: Node, isPatroniOnly = false): void {
    node.patroni.kill('SIGKILL');
    if (!isPatroniOnly) killPostgres(node.folder);
  }

  start(node: Node): void {
    node.patroni = this.#spawn(PROGRAMS.patroni, [node.file]);
  }

  async switchOver(leader: Node): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${leader.restPort}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: leader.name }),
    });
    if (!response.ok) throw new Error(`Patroni refused to switch over: ${await response.text()}`);
  }

  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + READY_MS_MAX;
    while (!(await isTrue())) {
      if (performance.now() > deadline) throw new Error(`no sign of ${what} in ${READY_MS_MAX} ms`);
      await sleep(POLL_MS);
    }
  }

  async close(): Promise<void> {
    process.off('exit', this.#onExit);
    this.#end();
    const children = [...this.nodes.map(({ patroni }) => patroni), this.#etcd];
    for (const child of children) {
      if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  #end(): void {
    for (const node of this.nodes) this.kill(node);
    this.#etcd?.kill('SIGKILL');
  }

  async #startEtcd(): Promise<number> {
    const [client, peer] = [await freePort(), await freePort()];
    const address = `http://127.0.0.1:${client}`;
    const flags = {
      'data-dir': join(this.#folder, 'etcd'),
      'listen-client-urls': address,
      'advertise-client-urls': address,
      'listen-peer-urls': `http://127.0.0.1:${peer}`,
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    this.#etcd = this.#spawn(PROGRAMS.etcd, args);
    return client;
  }

  async #addNode(name: string, etcdPort: number): Promise<void> {
    const folder = join(this.#folder, name);
    await mkdir(folder, { mode: 0o700 });
    if (this.#user !== undefined) await chown(folder, this.#user.uid, this.#user.gid);
    const [port, restPort] = [await freePort(), await freePort()];
    const file = join(this.#folder, `${name}.json`);
    const versions = readdirSync(POSTGRES_FOLDER).toSorted((a, b) => Number(b) - Number(a));
    const values: Readonly<Record<string, string | number | boolean>> = {
      NAME: name,
      PORT: port,
      REST_PORT: restPort,
      ETCD_PORT: etcdPort,
      FOLDER: folder,
      PROGRAMS: join(POSTGRES_FOLDER, versions[0] ?? '', 'bin'),
      PASSWORD: TEST_PASSWORD,
      SYNCHRONOUS: this.#isSynchronous,
    };
    // Patroni reads YAML, and JSON is valid YAML.
    const config = readFileSync(TEMPLATE, 'utf8');
    await writeFile(
      file,
      config.replaceAll(/\{([A-Z_]+)\}/g, (_, key: string) => String(values[key])),
    );
    const patroni = this.#spawn(PROGRAMS.patroni, [file]);
    this.nodes.push({ name, port, restPort, folder, file, patroni });
  }

  #spawn(program: string, args: string[]): ChildProcess {
    const env = { LC_ALL: 'C', PATH: '/usr/bin:/bin', HOME: this.#folder };
    return spawn(program, args, { ...this.#user, cwd: this.#folder, env, stdio: 'ignore' });
  }
}

/** Whether Patroni itself knows one: it switches over only then. */
async function hasSynchronousStandby({ restPort }: Node): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${restPort}/cluster`);
  const { members } = (await response.json()) as { members: { role: string }[] };
  return members.some(({ role }) => role === 'sync_standby');
}

async function isOk(url: string): Promise<boolean> {
  return fetch(url, { method: 'OPTIONS' }).then(
    ({ ok }) => ok,
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

/** PostgreSQL keeps running without its Patroni, so it is killed separately, with all of its processes. */
function killPostgres(folder: string): void {
  try {
    const pid = Number.parseInt(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    for (const each of [pid, ...children.map(Number)]) process.kill(each, 'SIGKILL');
  } catch {
    // PostgreSQL never started, or has already ended.
  }
}

// A cluster of Patroni with etcd: each node is a machine of its own, with a real network between them.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { needs, needsProgram } from '../../harness/needs.ts';
import { TEST_PASSWORD, unprivilegedUser } from '../../harness/postgres-server.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import { addressOf, canOpenNetwork, Network, type Machine } from './network.ts';

const NODES = 3;
const READY_MS_MAX = 180_000;
const POLL_MS = 50;
/** A node that is cut off gives no response. */
const RESPONSE_MS_MAX = 1_000;
/** Where Debian installs PostgreSQL, one folder per version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql';
/** The configuration of a node, with the default times of Patroni. */
const TEMPLATE = new URL('./node.json.template', import.meta.url);
/** That of the system, because the user of PostgreSQL may have no access to another one. */
const PYTHON = '/usr/bin/python3';
/** Another Patroni for the drill: `PETSTORE_DRILL_PATRONI=/usr/bin/patroni` uses that one. */
const OTHER_PATRONI = process.env['PETSTORE_DRILL_PATRONI'];

const execute = promisify(execFile);

/** Says what is missing here, or returns false if a cluster can run. */
export function findMissing(): string | false {
  for (const name of ['ip', 'setpriv', 'bash', 'etcd']) {
    const missing = needsProgram(name);
    if (missing !== false) return missing;
  }
  if (!canOpenNetwork()) return needs('the right to make network namespaces', false);
  const absent = [POSTGRES_FOLDER, OTHER_PATRONI ?? PYTHON].find((file) => !existsSync(file));
  if (absent !== undefined) return needs(absent, false);
  if (OTHER_PATRONI !== undefined) return false;
  const { status } = spawnSync(PYTHON, ['-c', 'import venv, ensurepip']);
  return needs('Python with venv', status === 0);
}

export interface Node {
  name: string;
  number: number;
  folder: string;
  machine: Machine;
}

export class PatroniCluster {
  readonly nodes: Node[] = [];
  readonly #patroni: string;
  readonly #network: Network;
  readonly #user: { uid: number; gid: number };
  readonly #isSynchronous: boolean;

  private constructor(
    patroni: string,
    network: Network,
    user: { uid: number; gid: number },
    isSynchronous: boolean,
  ) {
    this.#patroni = patroni;
    this.#network = network;
    this.#user = user;
    this.#isSynchronous = isSynchronous;
  }

  /** Resolves when one node is the leader and all others follow it. */
  static async start(patroni: string, isSynchronous: boolean): Promise<PatroniCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-patroni-'));
    const user = await unprivilegedUser();
    await chown(folder, user.uid, user.gid);
    const network = await Network.open(folder);
    try {
      const cluster = new PatroniCluster(patroni, network, user, isSynchronous);
      for (let number = 1; number <= NODES; number += 1) await cluster.#addNode(folder, number);
      await cluster.#untilComplete();
      return cluster;
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  get url(): string {
    const hosts = this.nodes.map(({ number }) => `${addressOf(number)}:5432`).join(',');
    return `postgres://petstore:${TEST_PASSWORD}@${hosts}/postgres`;
  }

  /** The node that Patroni considers the leader. An old leader that still accepts writes is not. */
  async leader(): Promise<Node | undefined> {
    const isLeader = await Promise.all(this.nodes.map((node) => isOk(node)));
    return this.nodes[isLeader.indexOf(true)];
  }

  async requireLeader(): Promise<Node> {
    const leader = await this.leader();
    if (leader === undefined) throw new Error('the cluster has no leader');
    return leader;
  }

  async untilOtherLeader(before: Node): Promise<void> {
    await this.#until('another leader', async () => {
      const leader = await this.leader();
      return leader !== undefined && leader !== before;
    });
  }

  /** Ends all processes of the machine: etcd, Patroni and PostgreSQL. */
  async kill(node: Node): Promise<void> {
    await node.machine.kill();
  }

  /** Starts a node that was killed. */
  async start(node: Node): Promise<void> {
    node.machine = await this.#boot(node);
  }

  /** PostgreSQL keeps running without its Patroni. */
  killPatroni(node: Node): void {
    // The shell would report it.
    node.machine.run('kill -KILL $patroni; wait $patroni 2>/dev/null');
  }

  startPatroni({ machine, folder }: Node): void {
    const log = join(folder, 'patroni.log');
    machine.run(
      `${this.#asUser()} ${this.#patroni} ${folder}/patroni.json >>${log} 2>&1 & patroni=$!`,
    );
  }

  /** The node loses every packet from and to the others, and the service. */
  async cutOff(node: Node): Promise<void> {
    await this.#network.disconnect(node.name);
  }

  async heal(node: Node): Promise<void> {
    await this.#network.connect(node.name);
  }

  async switchOver(leader: Node): Promise<void> {
    const response = await fetch(`${restOf(leader)}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: leader.name }),
    });
    if (!response.ok) throw new Error(`Patroni refused to switch over: ${await response.text()}`);
  }

  async close(): Promise<void> {
    await this.#network.close();
  }

  /** Resolves when the leader has all other nodes as standbys, one of them synchronous if that is configured. */
  async #untilComplete(): Promise<void> {
    const sql = `SELECT count(*)::int FROM pg_stat_replication
                 WHERE state = 'streaming' AND application_name LIKE 'node%'`;
    await this.#until('all standbys', async () => {
      const leader = await this.leader();
      if (leader === undefined) return false;
      const standbys = await query(leader, sql).catch(() => undefined);
      const isAll = standbys === NODES - 1;
      return isAll && (!this.#isSynchronous || (await hasSynchronousStandby(leader)));
    });
  }

  async #until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + READY_MS_MAX;
    while (!(await isTrue())) {
      if (performance.now() > deadline) throw new Error(`no sign of ${what} in ${READY_MS_MAX} ms`);
      await sleep(POLL_MS);
    }
  }

  async #addNode(parent: string, number: number): Promise<void> {
    const name = `node${number}`;
    const folder = join(parent, name);
    await mkdir(folder, { mode: 0o700 });
    await chown(folder, this.#user.uid, this.#user.gid);
    const versions = readdirSync(POSTGRES_FOLDER).toSorted((a, b) => Number(b) - Number(a));
    const values: Readonly<Record<string, string | number | boolean>> = {
      NAME: name,
      ADDRESS: addressOf(number),
      NETWORK: `${addressOf(0)}/24`,
      FOLDER: folder,
      PROGRAMS: join(POSTGRES_FOLDER, versions[0] ?? '', 'bin'),
      PASSWORD: TEST_PASSWORD,
      SYNCHRONOUS: this.#isSynchronous,
    };
    // Patroni reads YAML, and JSON is valid YAML.
    const config = readFileSync(TEMPLATE, 'utf8');
    await writeFile(
      join(folder, 'patroni.json'),
      config.replaceAll(/\{([A-Z_]+)\}/g, (_, key: string) => String(values[key])),
    );
    const machine = await this.#boot({ name, number, folder });
    this.nodes.push({ name, number, folder, machine });
  }

  async #boot(node: Omit<Node, 'machine'>): Promise<Machine> {
    const { name, number, folder } = node;
    const machine = await this.#network.startMachine(name, number);
    const [client, peer] = [`http://${addressOf(number)}:2379`, `http://${addressOf(number)}:2380`];
    const all = Array.from({ length: NODES }, (_, at) => at + 1);
    const flags = {
      name,
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': all.map((each) => `node${each}=http://${addressOf(each)}:2380`).join(','),
    };
    const words = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    machine.run(`cd ${folder}; export HOME=${folder}`);
    machine.run(`${this.#asUser()} etcd ${words.join(' ')} >>${folder}/etcd.log 2>&1 &`);
    this.startPatroni({ ...node, machine });
    return machine;
  }

  #asUser(): string {
    return `setpriv --reuid=${this.#user.uid} --regid=${this.#user.gid} --clear-groups`;
  }
}

/** By default the newest version, from PyPI, which is removed when the result is disposed of. */
export async function findPatroni() {
  const folder = await disposableFolder();
  const program = OTHER_PATRONI ?? join(folder.path, 'bin', 'patroni');
  if (OTHER_PATRONI === undefined) {
    await execute(PYTHON, ['-m', 'venv', folder.path]);
    await chmod(folder.path, 0o755);
    const packages = ['patroni[etcd3]', 'psycopg[binary]'];
    await execute(join(folder.path, 'bin', 'pip'), ['install', '--quiet', ...packages]);
  }
  const version = (await execute(program, ['--version'])).stdout.replace('patroni', '').trim();
  return { program, version, [Symbol.asyncDispose]: () => folder.remove() };
}

const restOf = ({ number }: Node) => `http://${addressOf(number)}:8008`;

/** Whether Patroni itself knows one: it switches over only then. */
async function hasSynchronousStandby(leader: Node): Promise<boolean> {
  const response = await fetch(`${restOf(leader)}/cluster`);
  const { members } = (await response.json()) as { members: { role: string }[] };
  return members.some(({ role }) => role === 'sync_standby');
}

async function isOk(node: Node): Promise<boolean> {
  const signal = AbortSignal.timeout(RESPONSE_MS_MAX);
  return fetch(`${restOf(node)}/primary`, { method: 'OPTIONS', signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Returns the first value of the first row. */
async function query({ number }: Node, text: string): Promise<unknown> {
  const client = new Client({
    connectionString: `postgres://petstore:${TEST_PASSWORD}@${addressOf(number)}:5432/postgres`,
    connectionTimeoutMillis: RESPONSE_MS_MAX,
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

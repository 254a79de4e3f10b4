import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../client.ts';
import type { Random } from '../random.ts';
import { READY } from '../service-process.ts';
import type { Recorder } from './recording.ts';

const WRITERS = 16;
/** Longer than the writer waits before it empties the log into the database. */
const IDLE_MS = 1_300;
const NAME_LENGTH_MAX = 200;

/** One create that a client has sent, perhaps several times. */
export interface SentCreate {
  name: string;
  isClaimed: boolean;
}

/** A command that changes the store, by the process that ran it. */
export interface SentChange {
  kind: 'set-status' | 'remove' | 'revoke' | 'backup' | 'restore';
  pid: number;
  ids: bigint[];
}

export interface Workload {
  key: string;
  /** The id of the key that is revoked, or empty. */
  revokedId: string;
  creates: Map<string, SentCreate>;
  changes: SentChange[];
}

export const STORE_PATH = 'data/production/petstore.sqlite';
export const BACKUP_PATH = 'data/backup.sqlite';

/**
 * Starts with an empty folder and creates animals. The process is killed during creates and started again; the
 * clients then repeat what was not acknowledged. With `hasCommands`, keys and animals are also changed by
 * commands, the log is emptied, and the store is backed up and restored.
 */
export async function runWorkload(
  recorder: Recorder,
  options: { key: string; creates: number; hasCommands: boolean; random: Random },
): Promise<Workload> {
  const { key, creates, hasCommands, random } = options;
  const workload: Workload = { key, revokedId: '', creates: new Map(), changes: [] };
  const session = new Session(recorder, workload, random);
  await session.start();
  await session.createMany(creates / 2);
  if (hasCommands) {
    await Promise.all([session.createMany(creates / 2), session.changeAnimals()]);
    await sleep(IDLE_MS);
    await Promise.all([session.createMany(creates / 2), session.revokeKey()]);
  }
  await session.killDuring(creates);
  await session.start();
  await session.repeatUnacknowledged();
  await session.createMany(creates / 4);
  await session.stop();
  if (!hasCommands) return workload;
  await session.backUpAndRestore();
  await session.start();
  await session.createMany(creates / 2);
  await session.stop();
  return workload;
}

class Session {
  readonly #recorder: Recorder;
  readonly #workload: Workload;
  readonly #random: Random;
  readonly #flags: string[];
  /** The ids of acknowledged animals by their names. */
  readonly #ids = new Map<string, bigint>();
  #service: ChildProcess | undefined;
  #baseUrl = '';

  constructor(recorder: Recorder, workload: Workload, random: Random) {
    this.#recorder = recorder;
    this.#workload = workload;
    this.#random = random;
    this.#flags = ['--data', join(recorder.root, 'data')];
  }

  async start(): Promise<void> {
    const args = ['serve', '--port', '0', '--admin-port', 'off', '--log', 'silent', ...this.#flags];
    const service = this.#recorder.start(args, { PETSTORE_BOOTSTRAP_KEY: this.#workload.key });
    this.#service = service;
    service.stdout?.resume();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    if (service.stderr === null) throw new Error('the service has no standard error');
    const lines: string[] = [];
    createInterface({ input: service.stderr })
      .on('line', (line) => {
        lines.push(line);
        const baseUrl = READY.exec(line)?.slice(1).find(Boolean);
        if (baseUrl !== undefined) resolve(baseUrl);
      })
      .once('close', () => reject(new Error(`the service did not start: ${lines.join('\n')}`)));
    this.#baseUrl = await promise;
  }

  async stop(): Promise<void> {
    if (this.#service === undefined) return;
    const ended = once(this.#service, 'exit');
    this.#service.kill('SIGTERM');
    await ended;
  }

  async createMany(count: number): Promise<void> {
    let left = Math.ceil(count);
    await this.#withClients(WRITERS, async (client) => {
      while (left > 0) {
        left -= 1;
        await this.#create(client, this.#newCreate());
      }
    });
  }

  /** Kills the process while creates are being committed. */
  async killDuring(count: number): Promise<void> {
    const service = this.#service;
    if (service === undefined) return;
    const atLeast = this.#ids.size + Math.floor(count / 8) + this.#random.integer(20);
    let killed: Promise<void> | undefined;
    await this.#withClients(WRITERS, async (client) => {
      while (killed === undefined) {
        try {
          await this.#create(client, this.#newCreate());
        } catch {
          // The process was killed.
        }
        if (this.#ids.size >= atLeast) killed ??= this.#recorder.killDuringSync(service);
      }
    });
    await killed;
  }

  /** One at a time: a create that was stored before the kill is then acknowledged without another commit. */
  async repeatUnacknowledged(): Promise<void> {
    await this.#withClients(1, async (client) => {
      for (const create of this.#workload.creates.values()) {
        if (create.isClaimed && !this.#ids.has(create.name)) await this.#create(client, create);
      }
    });
  }

  /** Sets the status of some animals and removes others, half of these the newest. */
  async changeAnimals(): Promise<void> {
    const ids = [...this.#ids.values()];
    const chosen = (from: number) => ids.slice(from, from + 8);
    await this.#change('set-status', chosen(0), ['catalogue', 'set-status', '--to', 'sold']);
    await this.#change(
      'remove',
      [...chosen(20), ...ids.slice(-8)],
      ['catalogue', 'remove', '--yes'],
    );
  }

  async revokeKey(): Promise<void> {
    const create = ['keys', 'create', '--name', 'second', '--json'];
    const { stdout } = await this.#recorder.run(...create, ...this.#flags);
    const { id } = JSON.parse(stdout) as { id: string };
    this.#workload.revokedId = id;
    const { pid } = await this.#recorder.run('keys', 'revoke', id, ...this.#flags);
    this.#workload.changes.push({ kind: 'revoke', pid, ids: [] });
  }

  /** The backup is the whole store, so that restoring it loses nothing. */
  async backUpAndRestore(): Promise<void> {
    const backup = join(this.#recorder.root, BACKUP_PATH);
    for (const kind of ['backup', 'restore'] as const) {
      const { pid } = await this.#recorder.run(kind, backup, ...this.#flags);
      this.#workload.changes.push({ kind, pid, ids: [] });
    }
  }

  async #change(kind: 'set-status' | 'remove', ids: bigint[], args: string[]): Promise<void> {
    const { pid } = await this.#recorder.run(...args, ...this.#flags, ...ids.map(String));
    this.#workload.changes.push({ kind, pid, ids });
  }

  #newCreate(): SentCreate {
    const { creates } = this.#workload;
    const length = 1 + this.#random.integer(NAME_LENGTH_MAX);
    const name = `animal-${creates.size}-${'x'.repeat(length)}`;
    const create = { name, isClaimed: creates.size % 4 !== 0 };
    creates.set(name, create);
    return create;
  }

  async #create(client: Client, { name, isClaimed }: SentCreate): Promise<void> {
    const { status, body } = await client.create(this.#baseUrl, name, { isClaimed });
    if (status !== 201) throw new Error(`a create got ${status} ${body}`);
    this.#ids.set(name, BigInt(/"id":(\d+)/.exec(body)?.[1] ?? 0));
  }

  async #withClients(count: number, work: (client: Client) => Promise<void>): Promise<void> {
    const clients = Array.from({ length: count }, () => new Client(this.#workload.key));
    try {
      await Promise.all(clients.map(work));
    } finally {
      for (const client of clients) client.close();
    }
  }
}

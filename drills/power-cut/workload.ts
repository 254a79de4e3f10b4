import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type WirePet } from '../../harness/client.ts';
import { Load } from '../../harness/load.ts';
import type { Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import type { Recorder } from './recording.ts';

const WRITERS = 16;
/** One create in so many has no Idempotency-Key. */
const UNCLAIMED_EVERY = 4;
/** Longer than the writer waits before it empties the log into the database. */
const IDLE_MS = 1_300;
const NAME_END_LENGTH_MAX = 200;
const POLL_MS = 1;
/** Above every id of a run. */
const IDS_ABOVE = '1000000';

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
  /** The creates that clients have sent. */
  load: Load;
  changes: SentChange[];
}

export const STORE_PATH = 'data/production/petstore.sqlite';
export const BACKUP_PATH = 'data/backup.sqlite';

/**
 * Starts with an empty folder and creates animals. The process is killed during creates and started again; the
 * clients then repeat what was not acknowledged. The same happens after a sync that failed. With `hasCommands`, keys and animals are also changed by
 * commands, the log is emptied, and the store is backed up and restored.
 */
export async function runWorkload(
  recorder: Recorder,
  options: { key: string; creates: number; hasCommands: boolean; random: Random },
): Promise<Workload> {
  const { key, creates, hasCommands, random } = options;
  const session = new Session(recorder, key, random);
  await session.start();
  await session.createMany(creates / 2);
  if (hasCommands) {
    await Promise.all([session.createMany(creates / 2), session.changeAnimals()]);
    await sleep(IDLE_MS);
    await Promise.all([session.createMany(creates / 2), session.revokeKey()]);
  }
  await session.killDuring(Math.floor(creates / 8) + random.integer(20));
  await session.start();
  await session.repeatUnacknowledged();
  await session.createMany(creates / 4);
  await session.failSync(() => session.createMany(creates / 4));
  await session.stop();
  if (hasCommands) {
    await session.backUpAndRestore();
    await session.start();
    await session.createMany(creates / 2);
    await session.stop();
  }
  const { workload } = session;
  const [violation] = workload.load.violations;
  if (violation !== undefined) throw new Error(violation);
  return workload;
}

class Session {
  readonly workload: Workload;
  readonly #recorder: Recorder;
  readonly #data: string;
  #service: ServiceProcess | undefined;

  constructor(recorder: Recorder, key: string, random: Random) {
    this.#recorder = recorder;
    this.#data = join(recorder.root, 'data');
    const load = new Load({
      key,
      baseUrl: () => this.#service?.baseUrl ?? '',
      unclaimedEvery: UNCLAIMED_EVERY,
      nameEnd: () => `-${'x'.repeat(1 + random.integer(NAME_END_LENGTH_MAX))}`,
      mayDisconnect: true,
    });
    this.workload = { key, revokedId: '', load, changes: [] };
  }

  async start(): Promise<void> {
    const { env, nodeFlags } = this.#recorder;
    const { key } = this.workload;
    this.#service = await ServiceProcess.start({ data: this.#data, key, env, nodeFlags });
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }

  async createMany(count: number): Promise<void> {
    await this.#createUntil(count, async () => undefined);
  }

  /** Kills the process while creates are being committed. */
  async killDuring(count: number): Promise<void> {
    const service = this.#service;
    if (service !== undefined) {
      await this.#createUntil(count, () => this.#recorder.killDuringSync(service));
    }
  }

  /** Does something as soon as so many more creates were acknowledged, and then stops the clients. */
  async #createUntil(count: number, work: () => Promise<void>): Promise<void> {
    const { load } = this.workload;
    const { acknowledged } = load.creates;
    const enough = acknowledged.size + count;
    load.start(WRITERS);
    while (acknowledged.size < enough && load.violations.length === 0) await sleep(POLL_MS);
    await work();
    await load.stop();
  }

  /** One at a time: a create that was stored before the kill is then acknowledged without another commit. */
  async repeatUnacknowledged(): Promise<void> {
    const { load } = this.workload;
    await load.repeat(this.#service?.baseUrl ?? '', load.creates.open, 1);
  }

  /**
   * The disk fails to sync one create, which is refused, and the process is killed. The next start finds the create
   * in the memory of the system, and acknowledges it when it is repeated. A reader, as a long export is one, opens
   * the store first and leaves it last.
   */
  async failSync(createMore: () => Promise<void>): Promise<void> {
    const service = this.#service;
    const { key, load } = this.workload;
    let name = load.creates.begin();
    while (!load.isClaimed(name)) name = load.creates.begin();
    if (service === undefined) return;
    await this.#recorder.killAfterFailedSync(service, async () => {
      const client = new Client(key);
      const { status, body } = await client.create(service.baseUrl, name, { isClaimed: true });
      client.close();
      // A service that does not sync its commits, as in a control, acknowledges it.
      if (status === 201) load.creates.acknowledge(name, body);
    });
    using reader = new DatabaseSync(service.file);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM pets').get();
    await this.start();
    await this.repeatUnacknowledged();
    await createMore();
  }

  /** Sets the status of some animals and removes others, half of these the newest. */
  async changeAnimals(): Promise<void> {
    const acknowledged = [...this.workload.load.creates.acknowledged.values()];
    const ids = acknowledged.map((text) => BigInt((JSON.parse(text) as WirePet).id));
    const chosen = (from: number) => ids.slice(from, from + 8);
    await this.#change('set-status', chosen(0), ['catalogue', 'set', '--status', 'sold']);
    await this.#change(
      'remove',
      [...chosen(20), ...ids.slice(-8)],
      ['catalogue', 'remove', '--yes'],
    );
  }

  async revokeKey(): Promise<void> {
    const create = ['keys', 'create', '--name', 'second', '--json', '--data', this.#data];
    const { stdout } = await this.#recorder.run(...create);
    const { id } = JSON.parse(stdout) as { id: string };
    this.workload.revokedId = id;
    await this.#change('revoke', [], ['keys', 'revoke', id]);
  }

  /** The backup is the whole store, so that restoring it loses nothing. */
  async backUpAndRestore(): Promise<void> {
    const backup = join(this.#recorder.root, BACKUP_PATH);
    await this.#change('backup', [], ['backup', backup]);
    await this.#change('restore', [], ['restore', backup, '--ids-above', IDS_ABOVE]);
  }

  async #change(kind: SentChange['kind'], ids: bigint[], args: string[]): Promise<void> {
    const words = [...args, '--data', this.#data, ...ids.map(String)];
    const { pid } = await this.#recorder.run(...words);
    this.workload.changes.push({ kind, pid, ids });
  }
}

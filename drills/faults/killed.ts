// What adds many animals is ended at random moments, by a signal or with its process, and the same is done again until
// it has ended by itself. Every animal must then be there, once and in its order.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client } from '../../harness/client.ts';
import { MAIN, NODE_FLAGS, runHere, start } from '../../harness/command.ts';
import { PostgresServer } from '../../harness/postgres-server.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';

/** In several parts: an import stores at most 256 KiB at once, and a copy 2,000 animals. */
const ANIMALS = 5_000;
const NAME_END = 'x'.repeat(200);
/** The console sends at most 5,000. */
const CONSOLE_ANIMALS = 3_000;
/** How long the first try may work. Each later one may work longer. */
const WORK_MS = 10;
const LONGER = 3;
const POLL_MS = 20;

interface Store {
  flags: string[];
  /** As `petstore copy` names it. */
  address: string;
  /** Changes when a command begins to write. */
  state: () => string | Promise<string>;
}

export async function searchKills(
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags: readonly string[] = [],
): Promise<DrillReport> {
  await using stack = new AsyncDisposableStack();
  const server = await PostgresServer.start({ isDurable: true });
  stack.defer(() => server.close());
  const violations: string[] = [];
  const counts = { passed: 0, ended: 0 };
  for (let round = 0; round < rounds && violations.length === 0; round += 1) {
    onProgress(`${round} of ${rounds} rounds`);
    await using folder = await disposableFolder();
    const stores = [fileStore(folder.path), await databaseStore(server)];
    const names = namesOf('imported', ANIMALS);
    const compare = async (what: string, { flags }: Store) => {
      const { stdout } = await runHere(['export', ...flags]);
      const lines = stdout.split('\n').slice(0, -1);
      const stored = lines.map((line) => (JSON.parse(line) as { name: string }).name);
      const at = names.findIndex((name, index) => stored[index] !== name);
      counts.passed += stored.length;
      if (at === -1 && stored.length === names.length) return;
      const instead = `${stored.length} animals instead of ${names.length}`;
      violations.push(`round ${round}, ${what}: ${instead}, and the first fault at ${at}`);
    };
    const tries = new Tries(newRandom(seed + round), nodeFlags);
    const [first, second] = (round % 2 === 0 ? stores : stores.toReversed()) as [Store, Store];
    const list = join(folder.path, 'list');
    writeFileSync(list, textOf(names, round % 4 < 2));
    const more = namesOf('added', CONSOLE_ANIMALS);
    await tries.run(['import', list, ...first.flags, '--create'], first);
    await compare('an import', first);
    if (violations.length === 0) {
      await tries.run(['copy', '--from', first.address, '--to', second.address], second);
      await compare('a copy', second);
    }
    // A store with a part of the animals may refuse to be opened.
    if (violations.length === 0) {
      await tries.add(textOf(more, true), second);
      names.push(...more);
      await compare('a list of the console', second);
    }
    counts.ended += tries.ended;
  }
  return { passed: counts.passed, violations, figures: { 'ended early': counts.ended } };
}

function fileStore(data: string): Store {
  const folder = join(data, 'production');
  const stateOf = (name: string) =>
    `${name} ${statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs}`;
  return {
    flags: ['--data', data],
    address: `sqlite:${join(folder, 'petstore.sqlite')}`,
    state: () => (existsSync(folder) ? readdirSync(folder).map(stateOf).join() : ''),
  };
}

async function databaseStore(server: PostgresServer): Promise<Store> {
  const database = await server.createDatabase();
  const writing = `SELECT pid FROM pg_stat_activity
                   WHERE datname = '${database}' AND query ~ 'INSERT INTO (pets|imports)'`;
  const address = server.url(database);
  const state = async () => String(await server.query(writing));
  return { flags: ['--database', address], address, state };
}

const namesOf = (begin: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${begin},\n${at} ${NAME_END}`);

function textOf(names: readonly string[], isTable: boolean): string {
  if (isTable) return `name,categoryId\n${names.map((name) => `"${name}",1\n`).join('')}`;
  return names.map((name) => `${JSON.stringify({ name, categoryId: 1 })}\n`).join('');
}

class Tries {
  /** How many were ended early. */
  ended = 0;
  readonly #random: Random;
  readonly #nodeFlags: readonly string[];

  constructor(random: Random, nodeFlags: readonly string[]) {
    this.#random = random;
    this.#nodeFlags = nodeFlags;
  }

  async run(args: readonly string[], { state }: Store): Promise<void> {
    const command = [process.execPath, ...NODE_FLAGS, ...this.#nodeFlags, MAIN] as const;
    for (const ms of this.#times()) {
      const before = await state();
      const child = start(args, { command });
      const ended = once(child, 'exit');
      while (child.exitCode === null && (await state()) === before) await sleep(POLL_MS);
      await Promise.race([ended, sleep(ms)]);
      if (child.exitCode !== null) return;
      child.kill(this.#random.pick(['SIGKILL', 'SIGINT'] as const));
      await ended;
      this.ended += 1;
    }
  }

  /** Sends a list as the console does, to a process that is killed meanwhile. The first response counts as lost. */
  async add(body: string, { flags }: Store): Promise<void> {
    const key = newSecret('production', randomBytes);
    const client = new Client(key);
    let responses = 0;
    for (const ms of this.#times()) {
      const service = await ServiceProcess.start({ key, flags, nodeFlags: this.#nodeFlags });
      const url = new URL('/console/import', service.baseUrl).href;
      const headers = { 'Content-Type': 'text/csv' };
      const sent = client.send(url, { method: 'POST', headers, body });
      const response = await Promise.race([sent.catch(() => undefined), sleep(ms)]);
      await service.kill();
      if (response === undefined) this.ended += 1;
      else responses += 1;
      if (responses === 2) break;
    }
    client.close();
  }

  *#times(): Generator<number> {
    for (let ms = WORK_MS + this.#random.integer(WORK_MS); ; ms *= LONGER) yield ms;
  }
}

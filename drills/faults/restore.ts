// The store is backed up, lost in one of several ways and restored, twice from the same backup. No id that was
// acknowledged may be given again, and no key that was ended may be accepted.

import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client, type WirePet } from '../../harness/client.ts';
import { runHere, type Finished } from '../../harness/command.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';

const CREATES = 20;
const DAMAGED_BYTES = 4_096;

type Restore = (data: string, backup: string, highestId: number) => Promise<string>;

/** Returns what the command has printed. Where it requires an id, the operator names the highest one. */
async function restoreByCommand(data: string, backup: string, highestId: number): Promise<string> {
  const args = ['restore', backup, '--data', data];
  const first = await runHere(args);
  if (first.code === 0) return first.stderr;
  if (!first.stderr.includes('--ids-above is required')) throw new Error(first.stderr);
  return (await succeed(...args, '--ids-above', String(highestId))).stderr;
}

/** The backup is only moved into place. */
export async function restoreByCopy(data: string, backup: string): Promise<string> {
  const file = fileIn(data);
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  copyFileSync(backup, file);
  return '';
}

/** What happens to the store. The last one leaves it as it is: the restore then knows its past. */
const DISASTERS: Readonly<Record<string, (round: Round) => Promise<void>>> = {
  'the file is removed': async ({ data }) => rmSync(fileIn(data)),
  'the file is damaged': async ({ data, random }) => damage(fileIn(data), random),
  'an empty store is created': async (round) => {
    rmSync(fileIn(round.data));
    rmSync(join(round.data, 'production', 'petstore.store-id'));
    await round.use({ isNewStore: true });
  },
  nothing: async () => undefined,
};
const NAMES = Object.keys(DISASTERS);

export async function searchRestores(
  { rounds, seed, onProgress }: DrillOptions,
  restore: Restore = restoreByCommand,
): Promise<DrillReport> {
  const violations: string[] = [];
  let passed = 0;
  for (let number = 0; number < rounds; number += 1) {
    const random = newRandom(seed + number);
    // Each of them in the first rounds.
    const first = 2 * number;
    const names =
      first < NAMES.length
        ? NAMES.slice(first, first + 2)
        : [random.pick(NAMES), random.pick(NAMES)];
    const title = `round ${number}: ${names.join(', then ')}`;
    onProgress(title);
    await using folder = await disposableFolder();
    const round = new Round(join(folder.path, 'store'), random);
    try {
      await round.run(names, restore);
    } catch (error) {
      round.violations.push(String(error));
    }
    passed += round.ids.size;
    violations.push(...round.violations.map((text) => `${title}: ${text}`));
  }
  return { passed, violations, figures: { restores: 2 * rounds } };
}

class Round {
  readonly data: string;
  readonly random: Random;
  /** Every id that was acknowledged. */
  readonly ids = new Set<number>();
  readonly violations: string[] = [];
  readonly #key = newSecret('production', randomBytes);

  constructor(data: string, random: Random) {
    this.data = data;
    this.random = random;
  }

  async run(disasters: readonly string[], restore: Restore): Promise<void> {
    const { data } = this;
    const here = ['--data', data];
    const backup = join(data, 'backup.sqlite');
    await this.use();
    const createKey = async () => {
      const created = await succeed('keys', 'create', '--name', 'ended', '--json', ...here);
      return JSON.parse(created.stdout) as { id: string; key: string };
    };
    const [revoked, rotated] = [await createKey(), await createKey()];
    await succeed('backup', backup, ...here);
    await succeed('keys', 'revoke', revoked.id, ...here);
    await succeed('keys', 'rotate', rotated.id, '--overlap', '0s', ...here);
    const ended = [revoked, rotated];
    await this.use();
    for (const name of disasters) {
      await DISASTERS[name]?.(this);
      const printed = await restore(data, backup, Math.max(...this.ids));
      // The operator ends again what was ended.
      const isAgain = printed.includes('may be valid again');
      for (const { id } of isAgain ? ended : []) await succeed('keys', 'revoke', id, ...here);
      await this.use({ ended: ended.map(({ key }) => key) });
    }
  }

  /** Starts the service, creates animals, tries the keys that must be refused, and stops the service. */
  async use({ ended = [], isNewStore = false }: Use = {}): Promise<void> {
    const { ids, violations } = this;
    const service = await ServiceProcess.start({ data: this.data, key: this.#key });
    const client = new Client(this.#key);
    for (let count = 0; count < CREATES; count += 1) {
      const created = await client.create(service.baseUrl, `animal-${count}`, { isClaimed: false });
      if (created.status !== 201) throw new Error(`a create got ${created.status}`);
      const { id } = JSON.parse(created.body) as WirePet;
      // A new store begins with the first id again.
      if (ids.has(id) && !isNewStore) violations.push(`the id ${id} was given again`);
      ids.add(id);
    }
    client.close();
    for (const secret of ended) {
      const other = new Client(secret);
      const { status } = await other.get(`${service.baseUrl}/pets?limit=1`);
      other.close();
      if (status !== 401) violations.push(`an ended key got ${status}`);
    }
    violations.push(...(await service.stop()));
  }
}

interface Use {
  ended?: readonly string[];
  isNewStore?: boolean;
}

const fileIn = (data: string) => join(data, 'production', 'petstore.sqlite');

async function succeed(...args: string[]): Promise<Finished> {
  const finished = await runHere(args);
  if (finished.code !== 0) throw new Error(`${args.join(' ')}: ${finished.stderr}`);
  return finished;
}

/** Overwrites some of the file: its header, or a part that is chosen at random. */
function damage(file: string, random: Random): void {
  const content = readFileSync(file);
  const from = random.integer(Math.floor(content.length / DAMAGED_BYTES)) * DAMAGED_BYTES;
  randomBytes(DAMAGED_BYTES).copy(content, from);
  writeFileSync(file, content);
}

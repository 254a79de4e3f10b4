// The store is backed up, lost in one of several ways and restored, twice from the same backup. No id that was
// ever acknowledged may be assigned again, and no key that was ended may be accepted.

import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { Client, type WirePet } from '../../harness/client.ts';
import type { DrillReport } from '../drill.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import { command, storeFile } from './backup.ts';

const CREATES = 20;
const DAMAGED_BYTES = 4_096;

export interface DisasterOptions {
  rounds: number;
  seed: number;
  /** Puts the backup in the place of the store, and returns what it has printed. */
  restore: (data: string, file: string, highestId: number) => Promise<string>;
  onProgress: (text: string) => void;
}

/** `petstore restore`, as a process of its own. Where it requires an id, the operator names the highest one. */
export async function restoreByCommand(
  data: string,
  file: string,
  highestId: number,
): Promise<string> {
  const restore = (...flags: string[]) =>
    command('restore', file, '--data', data, ...flags).then(({ stderr }) => stderr);
  return restore().catch((error: unknown) => {
    if (!String(error).includes('--ids-above is required')) throw error;
    return restore('--ids-above', String(highestId));
  });
}

/** The backup is only moved into place. */
export async function restoreByCopy(data: string, file: string): Promise<string> {
  const store = storeFile(data);
  for (const suffix of ['-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
  copyFileSync(file, store);
  return '';
}

/** What happens to the store. The last one leaves it as it is: the restore then knows its past. */
const DISASTERS: Readonly<Record<string, (round: Round) => Promise<void>>> = {
  'file removed': async ({ data }) => rmSync(storeFile(data)),
  'file damaged': async ({ data, random }) => damage(storeFile(data), random),
  'empty store created': async (round) => {
    rmSync(storeFile(round.data));
    rmSync(join(round.data, 'production', 'petstore.store-id'));
    await useStore(round, { isNewStore: true });
  },
  none: async () => undefined,
};
const NAMES = Object.keys(DISASTERS);

interface Round {
  data: string;
  random: Random;
  key: string;
  /** Every id that was acknowledged in this round. */
  ids: Set<number>;
  violations: string[];
}

export async function drillDisasters(options: DisasterOptions): Promise<DrillReport> {
  const { rounds, seed, onProgress } = options;
  const random = newRandom(seed);
  const violations: string[] = [];
  let ids = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const disasters = [round, Math.floor(round / NAMES.length) + round].map(
      (number) => NAMES[number % NAMES.length] ?? '',
    );
    const title = `disaster ${round} of ${rounds}: ${disasters.join(', then ')}`;
    onProgress(title);
    await using folder = await disposableFolder();
    const key = newSecret('production', randomBytes);
    const data = join(folder.path, 'store');
    const context: Round = { data, random, key, ids: new Set(), violations: [] };
    try {
      await runRound(context, disasters, options.restore);
    } catch (error) {
      context.violations.push(String(error));
    }
    ids += context.ids.size;
    violations.push(...context.violations.map((text) => `${title}: ${text}`));
  }
  const figures = { disasters: rounds, restores: 2 * rounds, 'ids, none given again': ids };
  return { passed: ids, violations, figures };
}

async function runRound(
  round: Round,
  disasters: readonly string[],
  restore: DisasterOptions['restore'],
): Promise<void> {
  const { data } = round;
  const here = ['--data', data];
  const backup = join(data, 'backup.sqlite');
  await useStore(round);
  const createKey = async () => {
    const { stdout } = await command('keys', 'create', '--name', 'ended', '--json', ...here);
    return JSON.parse(stdout) as { id: string; key: string };
  };
  const [revoked, rotated] = [await createKey(), await createKey()];
  await command('backup', backup, ...here);
  await command('keys', 'revoke', revoked.id, ...here);
  await command('keys', 'rotate', rotated.id, '--overlap', '0s', ...here);
  const ended = [revoked, rotated];
  await useStore(round);
  for (const name of disasters) {
    await DISASTERS[name]?.(round);
    const printed = await restore(data, backup, Math.max(...round.ids));
    // The operator ends again what was ended.
    const isAgain = printed.includes('may be valid again');
    for (const { id } of isAgain ? ended : []) await command('keys', 'revoke', id, ...here);
    await useStore(round, { ended: ended.map(({ key }) => key) });
  }
}

/** Starts the service, creates animals, tries the keys that must be refused, and stops the service. */
async function useStore(
  { data, key, ids, violations }: Round,
  { ended = [], isNewStore = false }: { ended?: readonly string[]; isNewStore?: boolean } = {},
): Promise<void> {
  const service = await ServiceProcess.start({ data, key });
  const client = new Client(key);
  for (let count = 0; count < CREATES; count += 1) {
    const response = await client.create(service.baseUrl, `animal-${count}`, { isClaimed: false });
    if (response.status !== 201) throw new Error(`a create got ${response.status}`);
    const { id } = JSON.parse(response.body) as WirePet;
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

/** Overwrites some of the file: its header, or a part that is chosen at random. */
function damage(file: string, random: Random): void {
  const content = readFileSync(file);
  const from = random.integer(Math.floor(content.length / DAMAGED_BYTES)) * DAMAGED_BYTES;
  randomBytes(DAMAGED_BYTES).copy(content, from);
  writeFileSync(file, content);
}

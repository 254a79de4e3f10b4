// The store is backed up, lost in one of several ways and restored, twice from the same backup. No id that was
// ever acknowledged may be assigned again, and no key that was ended may be accepted.

import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { run } from '../../test/support/test-process.ts';
import { Client } from '../client.ts';
import { newRandom, type Random } from '../random.ts';
import { ServiceProcess } from '../service-process.ts';

const CREATES = 20;
const DAMAGED_BYTES = 4_096;

export interface DisasterOptions {
  rounds: number;
  seed: number;
  /** Puts the backup in the place of the store, and returns what it has printed. */
  restore: (data: string, file: string) => Promise<string>;
  onProgress: (text: string) => void;
}

export interface DisasterReport {
  cleanRounds: number;
  restores: number;
  /** Ids that were acknowledged, over all rounds. */
  ids: number;
  idsGivenAgain: number;
  endedKeysTried: number;
  endedKeysAccepted: number;
  violations: string[];
}

/** `petstore restore`, as a process of its own. */
export async function restoreByCommand(data: string, file: string): Promise<string> {
  return command('restore', file, '--data', data).then(({ stderr }) => stderr);
}

/** The backup is only moved into place. */
export async function restoreByCopy(data: string, file: string): Promise<string> {
  const store = storeFile(data);
  for (const suffix of ['-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
  copyFileSync(file, store);
  return '';
}

/** What happens to the store. The last one leaves it as it is: the restore then knows its past. */
const DISASTERS: Record<string, (context: Round) => Promise<void>> = {
  'file removed': async ({ data }) => rmSync(storeFile(data)),
  'file damaged': async ({ data, random }) => damage(storeFile(data), random),
  'empty store created': async (context) => {
    rmSync(storeFile(context.data));
    rmSync(join(context.data, 'production', 'petstore.store-id'));
    await createMany(context, { isNewStore: true });
  },
  none: async () => undefined,
};
const NAMES = Object.keys(DISASTERS);

interface Round extends DisasterOptions {
  data: string;
  random: Random;
  key: string;
  report: DisasterReport;
  /** Every id that was acknowledged in this round. */
  ids: Set<number>;
}

export async function drillDisasters(options: DisasterOptions): Promise<DisasterReport> {
  const report: DisasterReport = {
    cleanRounds: 0,
    restores: 0,
    ids: 0,
    idsGivenAgain: 0,
    endedKeysTried: 0,
    endedKeysAccepted: 0,
    violations: [],
  };
  const random = newRandom(options.seed);
  for (let round = 1; round <= options.rounds; round += 1) {
    const [first = '', second = ''] = [round, Math.floor(round / NAMES.length) + round].map(
      (number) => NAMES[number % NAMES.length],
    );
    const title = `disaster ${round} of ${options.rounds}: ${first}, then ${second}`;
    options.onProgress(title);
    const folder = mkdtempSync(join(tmpdir(), 'petstore-disaster-'));
    const found = report.violations.length;
    try {
      const key = newSecret('production', randomBytes);
      const data = join(folder, 'store');
      const context = { ...options, data, random, key, report, ids: new Set<number>() };
      await runRound(context, [first, second]);
      report.ids += context.ids.size;
    } catch (error) {
      report.violations.push(`${title}: ${String(error)}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    const isClean = report.violations.length === found;
    if (isClean) report.cleanRounds += 1;
    else report.violations.push(`in ${title}`);
  }
  return report;
}

async function runRound(context: Round, disasters: readonly string[]): Promise<void> {
  const { data, report, restore } = context;
  const here = ['--data', data];
  const backup = join(data, 'backup.sqlite');
  await createMany(context);
  const [revoked, rotated] = [await createKey(here), await createKey(here)];
  await command('backup', backup, ...here);
  await command('keys', 'revoke', revoked.id, ...here);
  await command('keys', 'rotate', rotated.id, '--overlap', '0s', ...here);
  const ended = [revoked, rotated];
  await createMany(context);
  for (const name of disasters) {
    await DISASTERS[name]?.(context);
    const printed = await restore(data, backup);
    report.restores += 1;
    // The operator ends the keys again that the summary lists.
    const listed = ended.filter(({ id }) => printed.includes(`${id} (`));
    for (const { id } of listed) await command('keys', 'revoke', id, ...here);
    await createMany(context, { ended: ended.map(({ key }) => key) });
  }
}

interface Creating {
  /** Keys that must be refused. */
  ended?: readonly string[];
  /** A new store begins with the first id again. */
  isNewStore?: boolean;
}

/** Starts the service, creates animals, tries the ended keys, and stops the service. */
async function createMany(
  { data, key, ids, report }: Round,
  { ended = [], isNewStore = false }: Creating = {},
): Promise<void> {
  const service = await ServiceProcess.start(['--data', data, '--log', 'warn'], key);
  const client = new Client(key);
  for (let count = 0; count < CREATES; count += 1) {
    const response = await client.create(service.baseUrl, `animal-${count}`, { isClaimed: false });
    if (response.status !== 201) throw new Error(`a create got ${response.status}`);
    const { id } = JSON.parse(response.body) as { id: number };
    if (ids.has(id) && !isNewStore) {
      report.idsGivenAgain += 1;
      report.violations.push(`the id ${id} was given again`);
    }
    ids.add(id);
  }
  client.close();
  for (const secret of ended) {
    const other = new Client(secret);
    report.endedKeysTried += 1;
    const { status } = await other.get(`${service.baseUrl}/pets?limit=1`);
    other.close();
    if (status === 401) continue;
    report.endedKeysAccepted += 1;
    report.violations.push(`an ended key got ${status}`);
  }
  report.violations.push(...(await service.stop()));
}

async function createKey(here: readonly string[]): Promise<{ id: string; key: string }> {
  const { stdout } = await command('keys', 'create', '--name', 'ended', '--json', ...here);
  return JSON.parse(stdout) as { id: string; key: string };
}

/** Overwrites some of the file: its header, or a part that is chosen at random. */
function damage(file: string, random: Random): void {
  const content = readFileSync(file);
  const parts = Math.floor(statSync(file).size / DAMAGED_BYTES);
  const from = random.integer(parts) * DAMAGED_BYTES;
  randomBytes(DAMAGED_BYTES).copy(content, from);
  writeFileSync(file, content);
}

function storeFile(data: string): string {
  mkdirSync(join(data, 'production'), { recursive: true });
  return join(data, 'production', 'petstore.sqlite');
}

async function command(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await run(args);
  if (code !== 0) throw new Error(`petstore ${args.join(' ')}: ${stderr}`);
  return { stdout, stderr };
}

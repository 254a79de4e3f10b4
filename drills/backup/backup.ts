import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MAIN } from '../../harness/command.ts';
import type { WirePet } from '../../harness/client.ts';
import type { DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { median } from '../../harness/stolen-time.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';

const CLIENTS = 32;
const CREATES_PER_SECOND = 1_000;
/** Fewer than this would not be the load that the drill promises. */
const CREATES_PER_SECOND_MIN = 900;
const SLOWDOWN_MAX = 2;
const JUDGED_ROUNDS_MIN = 5;
/** How long the load runs before the backup begins. */
const LOAD_MS = 1_000;
const COMMAND_MS_MAX = 600_000;
/** Above every id of a round. */
const IDS_ABOVE = '100000000';

export interface BackupOptions {
  rounds: number;
  /** How many animals the store has before the load. */
  animals: number;
  /** Copies the store to a file. */
  backUp: (data: string, file: string) => Promise<void>;
  onProgress: (text: string) => void;
}

/** `petstore backup`, as a process of its own. */
export async function backUpByCommand(data: string, file: string): Promise<void> {
  await command('backup', file, '--data', data);
}

/** A copy of the database file alone, without its log. */
export async function backUpByCopy(data: string, file: string): Promise<void> {
  copyFileSync(storeFile(data), file);
}

/** Backs up a store under a steady load and restores it elsewhere, again and again. */
export async function drillBackup(options: BackupOptions): Promise<DrillReport> {
  await using folder = await disposableFolder();
  const data = join(folder.path, 'store');
  options.onProgress(`importing ${options.animals} animals`);
  await importAnimals(folder.path, data, options.animals);
  const service = await ServiceProcess.start({ data });
  const { key, baseUrl } = service;
  const load = new Load({ key, baseUrl: () => baseUrl });
  const times: RoundTimes[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    options.onProgress(`round ${round} of ${options.rounds}`);
    times.push(await runRound({ ...options, folder: folder.path, data, load }));
  }
  load.violations.push(...(await service.stop()));
  const of = (name: keyof RoundTimes) => times.map((each) => each[name]);
  const idleMs = median(of('idleMs'));
  const loadedMs = median(of('loadedMs'));
  const rate = Math.round(median(of('perSecond')));
  // A short run may share the machine with others.
  const isJudged = options.rounds >= JUDGED_ROUNDS_MIN;
  if (isJudged && loadedMs > SLOWDOWN_MAX * idleMs) {
    load.violations.push(`a backup took ${loadedMs} ms under load, and ${idleMs} ms without`);
  }
  if (isJudged && rate < CREATES_PER_SECOND_MIN) {
    load.violations.push(`only ${rate} creates per second were acknowledged meanwhile`);
  }
  return {
    passed: load.creates.acknowledged.size,
    violations: load.violations,
    figures: {
      animals: options.animals,
      'backup without and under load, median (s)': `${seconds(idleMs)}, ${seconds(loadedMs)}`,
      'backup under load, slowest (s)': seconds(Math.max(...of('loadedMs'))),
      'creates per second during the backup, median': rate,
      'slowest create (ms)': load.counts.slowestMs,
      'creates acknowledged before a backup, checked in it': of('before').reduce((a, b) => a + b),
    },
  };
}

interface RoundTimes {
  idleMs: number;
  loadedMs: number;
  /** Creates acknowledged per second while the backup ran. */
  perSecond: number;
  /** Animals of the load that were acknowledged before the backup began. */
  before: number;
}

async function runRound({
  folder,
  data,
  load,
  animals,
  backUp,
}: BackupOptions & { folder: string; data: string; load: Load }): Promise<RoundTimes> {
  const file = join(folder, 'backup.sqlite');
  const elsewhere = join(folder, 'elsewhere');
  const { acknowledged } = load.creates;
  const idleMs = await timeMs(() => backUp(data, file));
  rmSync(file);
  load.start(CLIENTS, CREATES_PER_SECOND);
  await sleep(LOAD_MS);
  const before = [...acknowledged.values()];
  const loadedMs = await timeMs(() => backUp(data, file));
  const created = acknowledged.size - before.length;
  await load.stop();
  try {
    await command('restore', file, '--ids-above', IDS_ABOVE, '--data', elsewhere);
    await command('verify', '--data', elsewhere);
    const missing = countMissing(storeFile(elsewhere), animals, before);
    if (missing > 0) load.violations.push(`${missing} acknowledged animals are not in the backup`);
  } catch (error) {
    load.violations.push(String(error));
  }
  for (const path of [file, elsewhere]) rmSync(path, { recursive: true, force: true });
  return { idleMs, loadedMs, perSecond: (created * 1_000) / loadedMs, before: before.length };
}

function countMissing(file: string, imported: number, acknowledged: readonly string[]): number {
  using database = new DatabaseSync(file, { readOnly: true });
  const kept = database
    .prepare("SELECT count(*) AS kept FROM pets WHERE id <= ? AND name = 'Animal ' || id")
    .get(imported);
  const find = database.prepare('SELECT 1 FROM pets WHERE id = ? AND name = ?');
  const pets = acknowledged.map((text) => JSON.parse(text) as WirePet);
  const gone = pets.filter(({ id, name }) => find.get(id, name) === undefined);
  return imported - Number(kept?.['kept']) + gone.length;
}

async function importAnimals(folder: string, data: string, count: number): Promise<void> {
  const file = join(folder, 'animals.ndjson');
  const lines = Array.from(
    { length: count },
    (_, index) => `{"name":"Animal ${index + 1}","categoryId":${index % 50}}\n`,
  );
  mkdirSync(data);
  writeFileSync(file, lines.join(''));
  await command('import', file, '--create', '--data', data);
  rmSync(file);
}

export function storeFile(data: string): string {
  return join(data, 'production', 'petstore.sqlite');
}

/** Runs a command of this version. Throws what the command printed if its exit code is not 0. */
export function command(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const options = { env: {}, timeout: COMMAND_MS_MAX };
  return promisify(execFile)(process.execPath, [MAIN, ...args], options);
}

async function timeMs(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return Math.round(performance.now() - startedMs);
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

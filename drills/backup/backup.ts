import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { newSecret } from '../../src/domain/api-key.ts';
import { MAIN } from '../../test/support/test-process.ts';
import { ServiceProcess } from '../service-process.ts';
import { SteadyCreates } from './steady-creates.ts';

const CREATES_PER_SECOND = 1_000;
/** Fewer than this would not be the load that the drill promises. */
const CREATES_PER_SECOND_MIN = 900;
const SLOWDOWN_MAX = 2;
/** How long the load runs before the backup begins. */
const LOAD_MS = 1_000;
const COMMAND_MS_MAX = 600_000;

export interface BackupOptions {
  rounds: number;
  /** How many animals the store has before the load. */
  animals: number;
  /** Copies the store to a file. */
  backUp: (data: string, file: string) => Promise<void>;
  onProgress: (text: string) => void;
}

export interface BackupReport {
  idleMs: number[];
  loadedMs: number[];
  /** Creates acknowledged per second while the backup ran, for each round. */
  rates: number[];
  /** Animals of the load that were acknowledged before a backup began, over all rounds. */
  acknowledgedBefore: number;
  acknowledged: number;
  slowestCreateMs: number;
  cleanRounds: number;
  violations: string[];
}

/** `petstore backup`, as a process of its own. */
export async function backUpByCommand(data: string, file: string): Promise<void> {
  await command(['backup', file, '--data', data]);
}

/** A copy of the database file alone, without its log. */
export async function backUpByCopy(data: string, file: string): Promise<void> {
  copyFileSync(storeFile(data), file);
}

/** Backs up a store under a steady load and restores it elsewhere, again and again. */
export async function drillBackup(options: BackupOptions): Promise<BackupReport> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-backup-drill-'));
  const report: BackupReport = {
    idleMs: [],
    loadedMs: [],
    rates: [],
    acknowledgedBefore: 0,
    acknowledged: 0,
    slowestCreateMs: 0,
    cleanRounds: 0,
    violations: [],
  };
  const data = join(folder, 'store');
  try {
    options.onProgress(`importing ${options.animals} animals`);
    await importAnimals(folder, data, options.animals);
    const key = newSecret('production', randomBytes);
    const service = await ServiceProcess.start(['--data', data, '--log', 'warn'], key);
    const load = new SteadyCreates(service.baseUrl, key, CREATES_PER_SECOND);
    for (let round = 1; round <= options.rounds; round += 1) {
      options.onProgress(`round ${round} of ${options.rounds}`);
      const found = report.violations.length;
      await runRound({ ...options, folder, data, load, report, title: `round ${round}` });
      if (report.violations.length === found) report.cleanRounds += 1;
    }
    await load.close();
    report.acknowledged = load.acknowledged.size;
    report.slowestCreateMs = load.slowestMs;
    report.violations.push(...load.failures, ...(await service.stop()), ...slownessOf(report));
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Round extends BackupOptions {
  folder: string;
  data: string;
  load: SteadyCreates;
  report: BackupReport;
  title: string;
}

async function runRound(round: Round): Promise<void> {
  const { folder, data, load, report, title, animals, backUp } = round;
  const file = join(folder, 'backup.sqlite');
  const elsewhere = join(folder, 'elsewhere');
  report.idleMs.push(await timeMs(() => backUp(data, file)));
  rmSync(file);
  load.start();
  await sleep(LOAD_MS);
  const before = new Map(load.acknowledged);
  const loadedMs = await timeMs(() => backUp(data, file));
  const created = load.acknowledged.size - before.size;
  await load.pause();
  report.loadedMs.push(loadedMs);
  report.rates.push((created * 1_000) / loadedMs);
  report.acknowledgedBefore += before.size;
  try {
    await command(['restore', file, '--data', elsewhere]);
    await command(['verify', '--data', elsewhere]);
    const missing = countMissing(storeFile(elsewhere), animals, before);
    if (missing > 0) report.violations.push(`${title}: ${missing} acknowledged animals are gone`);
  } catch (error) {
    report.violations.push(`${title}: ${String(error)}`);
  }
  rmSync(file, { force: true });
  rmSync(elsewhere, { recursive: true, force: true });
}

function slownessOf({ idleMs, loadedMs, rates }: BackupReport): string[] {
  const violations: string[] = [];
  const slowdown = median(loadedMs) / median(idleMs);
  if (slowdown > SLOWDOWN_MAX) {
    violations.push(`under load a backup takes ${slowdown.toFixed(2)} times as long`);
  }
  const rate = median(rates);
  if (rate < CREATES_PER_SECOND_MIN) {
    violations.push(`only ${Math.round(rate)} creates per second were acknowledged meanwhile`);
  }
  return violations;
}

function countMissing(
  file: string,
  imported: number,
  acknowledged: ReadonlyMap<number, string>,
): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const kept = database
      .prepare("SELECT count(*) AS kept FROM pets WHERE id <= ? AND name = 'Animal ' || id")
      .get(imported);
    const find = database.prepare('SELECT 1 FROM pets WHERE id = ? AND name = ?');
    const gone = [...acknowledged].filter(([id, name]) => find.get(id, name) === undefined);
    return imported - Number(kept?.['kept']) + gone.length;
  } finally {
    database.close();
  }
}

async function importAnimals(folder: string, data: string, count: number): Promise<void> {
  const file = join(folder, 'animals.ndjson');
  const lines = Array.from(
    { length: count },
    (_, index) => `{"name":"Animal ${index + 1}","categoryId":${index % 50}}\n`,
  );
  mkdirSync(data);
  writeFileSync(file, lines.join(''));
  await command(['import', file, '--create', '--data', data]);
  rmSync(file);
}

function storeFile(data: string): string {
  return join(data, 'production', 'petstore.sqlite');
}

/** Runs a command of this version. It rejects with what the command printed if its exit code is not 0. */
async function command(args: string[]): Promise<void> {
  const options = { env: {}, timeout: COMMAND_MS_MAX };
  await promisify(execFile)(process.execPath, [MAIN, ...args], options);
}

async function timeMs(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

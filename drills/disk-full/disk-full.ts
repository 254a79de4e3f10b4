import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { mountSmallDisk } from '../../test/support/small-disk.ts';
import { run } from '../../test/support/test-process.ts';
import { Client } from '../client.ts';
import { ServiceProcess } from '../service-process.ts';
import type { Random } from '../random.ts';

const DISK_KIBIBYTES = 64 * 1024;
const CREATORS = 4;
const READERS = 4;
/** How long the load runs before the disk is full, and again after it was freed. */
const LOAD_MS = 300;
const FULL_MS_MAX = 2_000;
const REFUSED_MS_MAX = 10_000;
const RECOVERED_MS_MAX = 5_000;
const POLL_MS = 10;

export interface DiskFullReport {
  cycles: number;
  acknowledged: number;
  refused: number;
  reads: number;
  slowestReadMs: number;
  /** From the moment the space was freed to the next acknowledged create, for each cycle. */
  recoveredMs: number[];
  violations: string[];
}

export interface DiskFullOptions {
  rounds: number;
  random: Random;
  /** Break the service on purpose, for the control. */
  nodeFlags?: readonly string[] | undefined;
  onProgress: (text: string) => void;
}

/** Fills the disk of a service under load and frees it, again and again. */
export async function drillDiskFull(options: DiskFullOptions): Promise<DiskFullReport> {
  const { disk, unmount } = mountSmallDisk(DISK_KIBIBYTES);
  process.once('exit', unmount);
  try {
    return await runCycles(disk, options);
  } finally {
    process.off('exit', unmount);
    unmount();
  }
}

async function runCycles(disk: string, options: DiskFullOptions): Promise<DiskFullReport> {
  const key = newSecret('production', randomBytes);
  const flags = ['--data', disk, '--log', 'fatal'];
  const service = await ServiceProcess.start(flags, key, undefined, options.nodeFlags);
  const load = new Load(service.baseUrl, key);
  const { report } = load;
  for (let cycle = 1; cycle <= options.rounds; cycle += 1) {
    options.onProgress(`cycle ${cycle} of ${options.rounds}`);
    await runCycle(`cycle ${cycle}`, { disk, load, random: options.random });
    report.cycles += 1;
  }
  await load.stop();
  report.violations.push(...(await service.stop()));
  const verified = await run(['verify', '--data', disk]);
  if (verified.code !== 0) report.violations.push(`verify: ${verified.stderr.trim()}`);
  const missing = findMissing(join(disk, 'production', 'petstore.sqlite'), load.acknowledged);
  if (missing.length > 0) {
    report.violations.push(
      `${missing.length} acknowledged animals are not in the store, such as ${missing[0]}`,
    );
  }
  return report;
}

async function runCycle(
  title: string,
  { disk, load, random }: { disk: string; load: Load; random: Random },
): Promise<void> {
  const { report } = load;
  const filler = join(disk, 'filler');
  await sleep(LOAD_MS);
  const refusedBefore = report.refused;
  fill(filler);
  if (!(await until(() => report.refused > refusedBefore, REFUSED_MS_MAX))) {
    report.violations.push(`${title}: no create was refused while the disk was full`);
  }
  await sleep(random.integer(FULL_MS_MAX));
  rmSync(filler);
  const freedMs = performance.now();
  if (!(await until(() => load.lastAcknowledgedSentMs > freedMs, RECOVERED_MS_MAX))) {
    report.violations.push(`${title}: no create was acknowledged within 5 s`);
    return;
  }
  report.recoveredMs.push(performance.now() - freedMs);
}

/** Writes a file until nothing more fits. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (const bytes of [1024 * 1024, 4096, 1]) {
      const chunk = Buffer.alloc(bytes, 1);
      try {
        for (;;) writeSync(descriptor, chunk);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

async function until(isTrue: () => boolean, withinMs: number): Promise<boolean> {
  const overdueMs = performance.now() + withinMs;
  while (!isTrue()) {
    if (performance.now() > overdueMs) return false;
    await sleep(POLL_MS);
  }
  return true;
}

function findMissing(file: string, acknowledged: ReadonlyMap<number, string>): string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const find = database.prepare('SELECT 1 FROM pets WHERE id = ? AND name = ?');
  const missing = [...acknowledged].filter(([id, name]) => find.get(id, name) === undefined);
  database.close();
  return missing.map(([, name]) => name);
}

/** Clients that create and list without a pause until they are stopped. */
class Load {
  readonly acknowledged = new Map<number, string>();
  readonly report: DiskFullReport = {
    cycles: 0,
    acknowledged: 0,
    refused: 0,
    reads: 0,
    slowestReadMs: 0,
    recoveredMs: [],
    violations: [],
  };
  /** When the newest acknowledged create was sent. */
  lastAcknowledgedSentMs = 0;
  readonly #baseUrl: string;
  readonly #clients: Promise<void>[];
  #count = 0;
  #isOver = false;

  constructor(baseUrl: string, key: string) {
    this.#baseUrl = baseUrl;
    this.#clients = [
      ...Array.from({ length: CREATORS }, () =>
        this.#repeat(key, (client) => this.#create(client)),
      ),
      ...Array.from({ length: READERS }, () => this.#repeat(key, (client) => this.#read(client))),
    ];
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #repeat(key: string, send: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client(key);
    while (!this.#isOver) {
      await send(client).catch((error: unknown) => {
        this.report.violations.push(`a request failed: ${String(error)}`);
      });
    }
    client.close();
  }

  async #create(client: Client): Promise<void> {
    const name = `animal-${(this.#count += 1)}`;
    const sentMs = performance.now();
    const { status, body } = await client.create(this.#baseUrl, name, { isClaimed: false });
    if (status === 201) {
      this.acknowledged.set((JSON.parse(body) as { id: number }).id, name);
      this.lastAcknowledgedSentMs = Math.max(this.lastAcknowledgedSentMs, sentMs);
      this.report.acknowledged += 1;
    } else if (status === 503) {
      this.report.refused += 1;
      // A refusal is immediate: without this pause the clients would send thousands.
      await sleep(POLL_MS);
    } else {
      this.report.violations.push(`a create got ${status}: ${body}`);
    }
  }

  async #read(client: Client): Promise<void> {
    const sentMs = performance.now();
    const { status, body } = await client.get(`${this.#baseUrl}/pets?limit=5`);
    this.report.reads += 1;
    this.report.slowestReadMs = Math.max(this.report.slowestReadMs, performance.now() - sentMs);
    if (status !== 200) this.report.violations.push(`a list got ${status}: ${body}`);
    await sleep(POLL_MS);
  }
}

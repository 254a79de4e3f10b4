import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { needs } from '../../harness/needs.ts';
import { canMount, mountSmallDisk } from '../../harness/small-disk.ts';
import { run as runCommand } from '../../harness/command.ts';
import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { newRandom } from '../../harness/random.ts';
import { ServiceProcess } from '../../harness/service-process.ts';

const DISK_KIBIBYTES = 64 * 1024;
const CLIENTS = 8;
/** How long the load runs before the disk is full. */
const LOAD_MS = 300;
const FULL_MS_MAX = 2_000;
const REFUSED_MS_MAX = 10_000;
const RECOVERED_MS_MAX = 5_000;
const POLL_MS = 10;

export const drill: Drill = {
  promise:
    'On a full disk no create is acknowledged that is not stored, reads continue, and creates work again within 5 s without a restart.',
  method: 'A small disk is filled and freed again and again under 8 clients that create and read.',
  unit: 'cycles',
  rounds: 10,
  quickRounds: 2,
  findMissing: () => needs('the right to mount a small disk', canMount()),
  run: (options) => run(options),
  control: {
    brokenBy: 'commits that do not fit on the disk count as stored',
    finds: ['is lost'],
    run: (options) => run(options, brokenBy('ignores-full-disk')),
  },
};

async function run(options: DrillOptions, nodeFlags?: readonly string[]): Promise<DrillReport> {
  const { disk, unmount } = mountSmallDisk(DISK_KIBIBYTES);
  process.once('exit', unmount);
  try {
    return await runCycles(disk, options, nodeFlags);
  } finally {
    process.off('exit', unmount);
    unmount();
  }
}

async function runCycles(
  disk: string,
  { rounds, seed, onProgress }: DrillOptions,
  nodeFlags: readonly string[] | undefined,
): Promise<DrillReport> {
  const random = newRandom(seed);
  const service = await ServiceProcess.start({ data: disk, nodeFlags });
  const { key, baseUrl } = service;
  // Without claims, so that clients do not repeat refused creates, and go on reading.
  const creates = { createEvery: 2, unclaimedEvery: 1 };
  const load = new Load({ key, baseUrl: () => baseUrl, ...creates, mayRefuse: true });
  const { violations } = load;
  const recoveriesMs: number[] = [];
  const filler = join(disk, 'filler');
  load.start(CLIENTS);
  for (let cycle = 1; cycle <= rounds; cycle += 1) {
    onProgress(`cycle ${cycle} of ${rounds}`);
    await sleep(LOAD_MS);
    const { refused } = load.counts;
    fill(filler);
    const untilMs = performance.now() + REFUSED_MS_MAX;
    while (load.counts.refused === refused && performance.now() < untilMs) await sleep(POLL_MS);
    if (load.counts.refused === refused) violations.push(`cycle ${cycle}: no create was refused`);
    await sleep(random.integer(FULL_MS_MAX));
    rmSync(filler);
    recoveriesMs.push(await load.untilAcknowledged(RECOVERED_MS_MAX));
  }
  await load.stop();
  await load.compare(baseUrl);
  violations.push(...(await service.stop()));
  const verified = await runCommand(['verify', '--data', disk]);
  if (verified.code !== 0) violations.push(`verify: ${verified.stderr.trim()}`);
  const { requests, refused } = load.counts;
  return {
    passed: requests - violations.length,
    violations,
    figures: {
      requests,
      'creates acknowledged': load.creates.acknowledged.size,
      'creates refused with 503': refused,
      'slowest request (ms)': load.counts.slowestMs,
      'slowest recovery (ms)': Math.max(...recoveriesMs),
    },
  };
}

/** Writes a file until nothing more fits. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  for (const bytes of [1024 * 1024, 4096, 1]) {
    const chunk = Buffer.alloc(bytes, 1);
    try {
      for (;;) writeSync(descriptor, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  closeSync(descriptor);
}

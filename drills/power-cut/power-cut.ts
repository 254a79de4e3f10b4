import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { newRandom, type Random } from '../random.ts';
import { checkAfterCut } from './check.ts';
import { findAcknowledgements, type Acknowledgements } from './expectation.ts';
import { FileSystem } from './file-system.ts';
import { Recorder, type RecordedEvent } from './recording.ts';
import { runWorkload, type Workload } from './workload.ts';

const VIOLATIONS_MAX = 20;
const NAME_CHANGES = new Set(['create', 'mkdir', 'unlink', 'rename', 'link']);
const NEAR_EVENTS = 4;

export interface PowerCutOptions {
  cuts: number;
  seed: number;
  /** How many animals the clients create, about. */
  creates: number;
  hasCommands: boolean;
  /** Flags of Node.js that break the service on purpose. */
  nodeFlags?: readonly string[];
  /** Whether a sync of this path has an effect. */
  isHonest?: (path: string) => boolean;
  onProgress?: (cuts: number) => void;
}

export interface PowerCutReport {
  /** How many cuts were checked, and how many of them violated a promise. */
  cuts: number;
  failedCuts: number;
  events: number;
  syncs: number;
  acknowledged: number;
  violations: string[];
}

/** Records one run of the service, and opens what a power cut at each of many moments may leave. */
export async function drillPowerCut(options: PowerCutOptions): Promise<PowerCutReport> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-power-cut-'));
  try {
    const random = newRandom(options.seed);
    const root = join(folder, 'recorded');
    mkdirSync(root);
    const recorder = new Recorder(folder, root, options.nodeFlags ?? []);
    const key = newSecret('production', randomBytes);
    const workload = await runWorkload(recorder, { ...options, key, random });
    const events = recorder.read();
    requireComplete(events, root);
    const acknowledgements = findAcknowledgements(events, workload);
    const image = join(folder, 'after-cut');
    return {
      ...cutAndCheck(events, { workload, acknowledgements }, image, options),
      events: events.length,
      syncs: events.filter(({ kind }) => kind === 'sync end').length,
      acknowledged: acknowledgements.creates.length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The recorded changes must lead to the files that are there, or the recorder has missed some. */
function requireComplete(events: readonly RecordedEvent[], root: string): void {
  const files = new FileSystem();
  for (const event of events) files.apply(event);
  for (const [path, content] of files.current()) {
    // SQLite changes the shared memory without a system call. The next start does not use it.
    if (path.endsWith('-shm')) continue;
    if (!readFileSync(join(root, path)).equals(content)) {
      throw new Error(`the recorder has missed a change of ${path}`);
    }
  }
}

function cutAndCheck(
  events: readonly RecordedEvent[],
  recorded: { workload: Workload; acknowledgements: Acknowledgements },
  image: string,
  { cuts, seed, isHonest, onProgress }: PowerCutOptions,
): Pick<PowerCutReport, 'cuts' | 'failedCuts' | 'violations'> {
  const violations: string[] = [];
  const files = new FileSystem(isHonest);
  let [applied, checked, failedCuts] = [0, 0, 0];
  for (const [index, moment] of chooseMoments(events, cuts, newRandom(seed)).entries()) {
    for (; applied < moment; applied += 1) files.apply(events[applied] as RecordedEvent);
    files.cut(image, newRandom(seed * 1_000_003 + index));
    const { workload, acknowledgements } = recorded;
    const found = checkAfterCut(image, moment, workload, acknowledgements);
    violations.push(...found.map((text) => `cut ${index} after event ${moment}: ${text}`));
    if (found.length > 0) failedCuts += 1;
    rmSync(image, { recursive: true });
    checked += 1;
    onProgress?.(checked);
    if (violations.length >= VIOLATIONS_MAX) break;
  }
  return { cuts: checked, failedCuts, violations };
}

/**
 * A quarter of the cuts are at any moment, a quarter within a few events of a change of names, a quarter directly
 * after a response, and a quarter after a response that was sent while the log had changes that were not synced.
 */
function chooseMoments(events: readonly RecordedEvent[], cuts: number, random: Random): number[] {
  const files = new FileSystem();
  const all = events.map((_, index) => index + 1);
  const names: number[] = [];
  const responses: number[] = [];
  const risky: number[] = [];
  for (const [index, event] of events.entries()) {
    files.apply(event);
    if (NAME_CHANGES.has(event.kind)) names.push(...all.slice(index, index + NEAR_EVENTS));
    if (event.kind !== 'output') continue;
    responses.push(index + 1);
    if (files.hasPending('-wal')) risky.push(index + 1);
  }
  const groups = [all, names, responses, risky].filter((group) => group.length > 0);
  const moments = Array.from({ length: cuts }, () => random.pick(random.pick(groups)));
  return moments.toSorted((one, other) => one - other);
}

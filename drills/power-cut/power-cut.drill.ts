import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newSecret } from '../../src/domain/api-key.ts';
import { brokenByBug } from '../broken/broken.ts';
import { drill, type Control, type DrillOptions, type DrillReport } from '../drill.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { disposableFolder } from '../../harness/temporary-folder.ts';
import { checkAfterCut } from './check.ts';
import { findAcknowledgements, type Acknowledgements } from './expectation.ts';
import { FileSystem } from './file-system.ts';
import { findMissingTool, Recorder, type RecordedEvent } from './recording.ts';
import { runWorkload, type Workload } from './workload.ts';

/** Each recording of the service is cut this often. */
const CUTS_PER_RECORDING = 500;
const CREATES = 500;
const SHOWN_EVERY = 25;
const VIOLATIONS_MAX = 20;
const NAME_CHANGES = new Set(['create', 'mkdir', 'unlink', 'rename', 'link']);
const NEAR_EVENTS = 4;

const LOAD = { creates: 200, hasCommands: false };

// What was not synced is there, missing, torn by sector or out of order. What a failed sync should have written is seen
// by the next start, but is not on the disk: the system has marked it as clean. A reader holds a snapshot meanwhile.
drill(
  'a power cut loses nothing that was acknowledged, also after the first start, after a crash and after a sync that failed',
  { unit: 'cuts', rounds: 2_000, quickRounds: 150, skip: findMissingTool() },
  (options) => run(options, { creates: CREATES, hasCommands: true }),
  {
    'commits are synced only at checkpoints': byBug('commits are synced only at checkpoints'),
    'the log that a start finds is not written again': byBug(
      'the log of a start is synced without being written again',
    ),
    'the log that a start finds is not synced': byBug('the log of a start is not synced'),
    'the disk ignores syncs of the log': {
      // Animals are lost, or all of the store: without its log a new file has nothing.
      finds: ['after event'],
      search: (options) => run(options, { ...LOAD, isHonest: (path) => !path.endsWith('-wal') }),
    },
  },
);

function byBug(bug: string): Control {
  const nodeFlags = brokenByBug(bug);
  return { finds: ['are lost'], search: (options) => run(options, { ...LOAD, nodeFlags }) };
}

type Variant = Omit<PowerCutOptions, 'cuts' | 'seed'>;

async function run(options: DrillOptions, variant: Variant): Promise<DrillReport> {
  const { rounds, seed, onProgress } = options;
  const reports: PowerCutReport[] = [];
  for (let done = 0; done < rounds; done += CUTS_PER_RECORDING) {
    onProgress(`${done} of ${rounds} cuts, recording the service`);
    const report = await drillPowerCut({
      ...variant,
      cuts: Math.min(CUTS_PER_RECORDING, rounds - done),
      seed: seed + reports.length,
      onProgress: (cuts) => {
        if (cuts % SHOWN_EVERY === 0) onProgress(`${done + cuts} of ${rounds} cuts`);
      },
    });
    reports.push(report);
    if (report.violations.length > 0) break;
  }
  const sum = (name: 'cuts' | 'events' | 'syncs' | 'acknowledged' | 'failedCuts') =>
    reports.reduce((total, report) => total + report[name], 0);
  return {
    passed: sum('cuts') - sum('failedCuts'),
    violations: reports.flatMap(({ violations }) => violations),
    figures: {
      'recorded runs': reports.length,
      'recorded events': sum('events'),
      'syncs among them': sum('syncs'),
      'acknowledged creates': sum('acknowledged'),
    },
  };
}

interface PowerCutOptions {
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

interface PowerCutReport {
  /** How many cuts were checked, and how many of them violated a promise. */
  cuts: number;
  failedCuts: number;
  events: number;
  syncs: number;
  acknowledged: number;
  violations: string[];
}

/** Records one run of the service, and opens what a power cut at each of many moments may leave. */
async function drillPowerCut(options: PowerCutOptions): Promise<PowerCutReport> {
  await using folder = await disposableFolder();
  const random = newRandom(options.seed);
  const root = join(folder.path, 'recorded');
  mkdirSync(root);
  const recorder = new Recorder(folder.path, root, options.nodeFlags ?? []);
  const key = newSecret('production', randomBytes);
  const workload = await runWorkload(recorder, { ...options, key, random });
  const events = recorder.read();
  requireComplete(events, root);
  const acknowledgements = findAcknowledgements(events, workload);
  const image = join(folder.path, 'after-cut');
  return {
    ...cutAndCheck(events, { workload, acknowledgements }, image, options),
    events: events.length,
    syncs: events.filter(({ kind }) => kind === 'sync end').length,
    acknowledged: acknowledgements.creates.length,
  };
}

/** The recorded changes must lead to the files that are there, or the recorder has missed some. */
function requireComplete(events: readonly RecordedEvent[], root: string): void {
  const files = new FileSystem({ forgets: false });
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
  const files = new FileSystem({ isHonest });
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

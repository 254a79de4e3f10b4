import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { mergeReports } from '../stores.ts';
import { drillPowerCut, type PowerCutOptions, type PowerCutReport } from './power-cut.ts';
import { findMissingTool } from './recording.ts';

// Files in memory: a disk would only make the drill slower.
await import('../../test/support/memory-folder.ts');

/** Each recording of the service is cut this often. */
const CUTS_PER_RECORDING = 500;
const CREATES = 500;
const SHOWN_EVERY = 25;

export const drill: Drill = {
  promise:
    'A power cut loses nothing that was acknowledged, also after the first start and after a crash.',
  method:
    'Every write and sync of the files is recorded in a real run. The files are rebuilt as they may be after a cut: what was not synced is there, missing, torn by sector or out of order.',
  unit: 'cuts',
  rounds: 2_000,
  quickRounds: 150,
  findMissing: findMissingTool,
  run: (options) => run(options, { creates: CREATES, hasCommands: true }),
  control: {
    brokenBy: 'synchronous = NORMAL, and a disk that ignores syncs of the log',
    finds: ['synchronous = NORMAL: ', 'a disk that ignores syncs: ', 'are lost'],
    run: runControl,
  },
};

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

async function runControl(options: DrillOptions): Promise<DrillReport> {
  const hook = new URL('normal-sync.ts', import.meta.url).href;
  const load = { creates: 200, hasCommands: false };
  return mergeReports({
    'synchronous = NORMAL': await run(options, { ...load, nodeFlags: ['--import', hook] }),
    'a disk that ignores syncs': await run(options, {
      ...load,
      isHonest: (path) => !path.endsWith('-wal'),
    }),
  });
}

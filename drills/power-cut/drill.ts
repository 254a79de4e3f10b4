import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillPowerCut, type PowerCutOptions, type PowerCutReport } from './power-cut.ts';
import { findMissingTool } from './recording.ts';

// Files in memory: a disk would only make the drill slower.
await import('../../test/support/memory-folder.ts');

/** Each recording of the service is cut this often. */
const CUTS_PER_RECORDING = 500;
const CREATES = 500;
const SHOWN_EVERY = 25;

export const drill: Drill = {
  purpose:
    'A power cut at any moment: of what was not synced, anything may be missing, torn or out of order; everything that was acknowledged is there.',
  unit: 'cuts',
  rounds: 2_000,
  quickRounds: 150,
  findMissing: findMissingTool,
  run: (options) => run(options, { creates: CREATES, hasCommands: true }),
  control: {
    brokenBy: 'synchronous = NORMAL, and a disk that ignores syncs of the log',
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

/** Both variants must fail. */
async function runControl(options: DrillOptions): Promise<DrillReport> {
  const hook = new URL('normal-sync.ts', import.meta.url).href;
  const load = { creates: 200, hasCommands: false };
  const weak = await run(options, { ...load, nodeFlags: ['--import', hook] });
  const lying = await run(options, { ...load, isHonest: (path) => !path.endsWith('-wal') });
  const areBothFound = weak.violations.length > 0 && lying.violations.length > 0;
  const violations = areBothFound ? [...weak.violations, ...lying.violations] : [];
  return { ...weak, violations };
}

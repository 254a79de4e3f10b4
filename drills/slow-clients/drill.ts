import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillSlowClients, type SlowClientsOptions } from './slow-clients.ts';

/** With fewer sockets the drill is short: it does not judge times, nor wait 70 s for clients that never read. */
const COMPLETE_MIN = 1_000;
const SHORT = { measuredMs: 2_000, lateMsMax: 8_000 };
const FORGERS = 20;
/** How often a complete run is repeated while the host of this machine is too busy to measure times. */
const REPEATED_MAX = 3;

export const drill: Drill = {
  purpose:
    'Dripping sockets, five times as many aborted uploads, a quarter as many clients that never read, and 20 that forge keys: legal requests stay within twice their time, and sockets are closed by their deadline.',
  unit: 'dripping sockets',
  rounds: 2_000,
  quickRounds: 200,
  run: (options) =>
    run(options, {
      attacks: {
        drip: options.rounds,
        abort: options.rounds * 5,
        ...(options.rounds < COMPLETE_MIN ? {} : { 'never-read': options.rounds / 4 }),
        forge: FORGERS,
      },
    }),
  control: {
    brokenBy: 'a service without a time limit for requests',
    run: (options) =>
      run(options, { attacks: { drip: options.rounds }, nodeFlags: brokenBy('waits-for-ever') }),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  variant: Pick<SlowClientsOptions, 'attacks' | 'nodeFlags'>,
): Promise<DrillReport> {
  const isComplete = rounds >= COMPLETE_MIN;
  const options = { ...variant, ...(isComplete ? {} : SHORT), onProgress };
  let report = await drillSlowClients(options);
  const repeatedMax = isComplete ? REPEATED_MAX : 0;
  for (let again = 0; report.isDisturbed && again < repeatedMax; again += 1) {
    onProgress('again, because the host of this machine was too busy');
    // What the host does not change counts from every run.
    const { requests, violations } = report;
    report = await drillSlowClients(options);
    report.requests += requests;
    report.violations.push(...violations);
  }
  const figures: Record<string, string | number> = {
    'legal requests': report.requests,
    'legal p99 before (ms)': report.beforeMs.toFixed(1),
  };
  for (const [attack, { p99Ms, closedSeconds, peakMib }] of Object.entries(report.attacks)) {
    figures[`${attack}: legal p99 (ms), closed after (s), memory (MiB)`] =
      `${p99Ms.toFixed(1)}, ${closedSeconds}, ${peakMib}`;
  }
  figures['memory before and after (MiB)'] = report.memoryMib.join(', ');
  const violations = [...report.violations, ...(isComplete ? report.slow : [])];
  return { passed: report.requests, violations, figures };
}

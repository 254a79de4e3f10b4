import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillSlowClients, hasSlowhttptest, type SlowClientsOptions } from './slow-clients.ts';

/** With fewer sockets the drill is short: it does not judge times, nor wait 70 s for clients that never read. */
const COMPLETE_MIN = 1_000;
const SHORT = { measuredMs: 2_000, lateMsMax: 8_000 };
const FORGERS = 20;
/** How often a complete run is repeated while the host of this machine is too busy to measure times. */
const REPEATED_MAX = 3;

export const drill: Drill = {
  promise:
    'Slow and greedy clients do not slow down others, their sockets are closed by a deadline, and memory returns.',
  method:
    '2,000 sockets that send one byte per second and 10,000 aborted uploads, 1,000 new connections per second; 500 clients that never read; 20 connections that forge keys; where it is installed, also slowhttptest with slow headers, bodies and reads on 1,000 connections each. Legal requests are measured before and during each attack.',
  unit: 'dripping sockets',
  rounds: 2_000,
  quickRounds: 200,
  run: (options) => run(options, { attacks: attacksOf(options.rounds) }),
  control: {
    brokenBy: 'a service without a time limit for requests',
    finds: ['sockets are open'],
    run: (options) =>
      run(options, { attacks: { drip: options.rounds }, nodeFlags: brokenBy('waits-for-ever') }),
  },
};

function attacksOf(count: number): SlowClientsOptions['attacks'] {
  const short = { drip: count, abort: count * 5, forge: FORGERS };
  if (count < COMPLETE_MIN) return short;
  const others = hasSlowhttptest() ? ['slow headers', 'slow body', 'slow read'] : [];
  const each = Object.fromEntries(others.map((attack) => [attack, count / 2]));
  return { ...short, 'never-read': count / 4, ...each };
}

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
  const violations = [...report.violations, ...(isComplete ? report.slow : [])];
  const figures = { 'legal requests': report.requests, ...report.figures };
  return { passed: report.requests, violations, figures };
}

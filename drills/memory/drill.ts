import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { judgeMemory, MANY, type MemoryCase } from './memory.ts';

/** With fewer connections only the mix is tried. */
const COMPLETE_MIN = 2_000;

export const drill: Drill = {
  promise:
    'Whatever strangers send, memory is limited and free again afterwards, and others are served.',
  method:
    'Beside a service without connections: 20 and 100 bodies of 60,000 chunks of one byte, with and without a key; 400 behind a page in one packet; 400 with invented keys; then 2,000 and 10,000 connections that mix these with long bodies, pipelined requests and unread responses.',
  unit: 'connections of the mix',
  rounds: MANY,
  quickRounds: 400,
  run: (options) => run(options),
  control: {
    brokenBy: 'a service that keeps each chunk of a body',
    finds: ['the memory grew'],
    run: (options) => run(options, brokenBy('keeps-chunks')),
  },
};

async function run(
  { rounds, onProgress }: DrillOptions,
  nodeFlags: readonly string[] = [],
): Promise<DrillReport> {
  const mixes = [Math.min(rounds, COMPLETE_MIN), rounds];
  const cases: MemoryCase[] = [...new Set(mixes)].map((connections) => ({
    attack: 'mix',
    connections,
  }));
  if (rounds >= COMPLETE_MIN) {
    cases.unshift(
      { attack: 'chunks with a key', connections: 20 },
      { attack: 'chunks without a key', connections: 100 },
      { attack: 'chunks behind a page', connections: 400 },
      { attack: 'chunks with an invented key', connections: 400 },
    );
  }
  const figures: Record<string, string> = {};
  const violations: string[] = [];
  let passed = 0;
  for (const each of cases) {
    const name = `${each.connections} connections, ${each.attack}`;
    onProgress(name);
    const report = await judgeMemory({ ...each, nodeFlags });
    const { beforeMib, peakMib, afterMib, waitedCpuSeconds, probes } = report;
    figures[`${name}: memory before, most, after (MiB)`] = [beforeMib, peakMib, afterMib].join();
    figures[`${name}: most processor time until /livez responds (s)`] = waitedCpuSeconds.toFixed(1);
    violations.push(...report.violations.map((violation) => `${name}: ${violation}`));
    passed += probes;
  }
  return { passed, violations, figures };
}

import { brokenBy } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { judgeMemory, MANY, type MemoryCase } from './memory.ts';

/** With fewer connections only the mix is tried. */
const COMPLETE_MIN = 2_000;

export const drill: Drill = {
  purpose:
    'Bodies in chunks of one byte, with, without and with invented keys, long bodies, pipelined requests and unread responses: the memory of the service stays limited and is free again afterwards, and other clients are served.',
  unit: 'connections of the mix',
  rounds: MANY,
  quickRounds: 400,
  run: (options) => run(options),
  control: {
    brokenBy: 'a service that keeps each chunk of a body',
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

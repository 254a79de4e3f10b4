import type { DrillReport } from '../drill.ts';
import { p99, UNDISTURBED_SHARE_MIN, type StolenTime } from '../../harness/stolen-time.ts';
import type { LoadResult } from './open-loop.ts';

const CREATE_FACTOR_MAX = 3;
const LIST_FACTOR_MAX = 2;
/** Without congestion: a pause of this machine lets more requests arrive at once than the store takes. */
const REFUSED_SHARE_MAX = 0.01;
const MEMORY_GROWTH_MIB_MAX = 32;

export interface Phase {
  creates: LoadResult;
  lists: LoadResult;
}

interface Measured {
  before: Phase;
  during: Phase;
  after: Phase;
  seconds: number;
  memoryMib: [early: number, late: number];
  stolenTime: StolenTime;
  /** Not in a short run. */
  judgesTimes: boolean;
}

/** Whether the host was too busy: the times of this phase show nothing. */
export function isDisturbed({ lists }: Phase, stolenTime: StolenTime): boolean {
  return stolenTime.undisturbed(lists.responses[200]).share < UNDISTURBED_SHARE_MIN;
}

/** Times are those of the responses that the host of this virtual machine did not disturb. */
export function judge(measured: Measured): DrillReport {
  const { before, during, after, seconds, stolenTime, judgesTimes } = measured;
  const [early, late] = measured.memoryMib;
  const phases = [before, during, after];
  const p99s = (loads: (LoadResult['responses'][number] | undefined)[]) =>
    loads.map((responses) => p99(stolenTime.undisturbed(responses).tookMs));
  const createsMs = p99s(phases.map(({ creates }) => creates.responses[201]));
  const listsMs = p99s(phases.map(({ lists }) => lists.responses[200]));
  const shares = phases.map(({ lists }) => stolenTime.undisturbed(lists.responses[200]).share);
  const accepted = during.creates.responses[201]?.length ?? 0;
  const refused = during.creates.responses[503] ?? [];
  // A busy machine may be the cause of these.
  const slow = [
    ...slownessOf(createsMs, listsMs),
    ...failuresOf(during.creates, during.creates.sent - accepted - refused.length, 'creates'),
    ...phases.flatMap(({ lists }) =>
      failuresOf(lists, lists.sent - (lists.responses[200]?.length ?? 0), 'lists'),
    ),
    ...[before, after].flatMap(({ creates }) => {
      const refusals = stolenTime.undisturbed(creates.responses[503]).tookMs;
      const share = refusals.length / creates.sent;
      return share > REFUSED_SHARE_MAX ? [`${share} were refused without congestion`] : [];
    }),
  ];
  const isTooBusy = phases.some((phase) => isDisturbed(phase, stolenTime));
  const ofTimes = isTooBusy ? ['the host was too busy to measure'] : slow;
  const violations = [
    ...(refused.length === 0 ? ['no create was refused'] : []),
    ...(late - early > MEMORY_GROWTH_MIB_MAX ? [`memory grew from ${early} to ${late} MiB`] : []),
    ...(judgesTimes ? ofTimes : []),
  ];
  return {
    passed: violations.length === 0 ? 1 : 0,
    violations,
    figures: {
      'creates accepted, refused per second': `${Math.round(accepted / seconds)}, ${Math.round(refused.length / seconds)}`,
      'p99 of accepted creates before, during, after (ms)': shown(createsMs),
      'p99 of the refusals (ms)': shown(p99s([refused])),
      'p99 of lists before, during, after (ms)': shown(listsMs),
      'memory after a third, at the end (MiB)': `${early}, ${late}`,
      'share of the lists that the host did not disturb': shown(shares, 2),
    },
  };
}

/** What was too slow, of the times before, during and after the overload. */
function slownessOf(createsMs: readonly number[], listsMs: readonly number[]): string[] {
  const [createMs = 0, congestedMs = 0, afterMs = 0] = createsMs;
  const [listMs = 0, listCongestedMs = 0] = listsMs;
  const createMsMax = CREATE_FACTOR_MAX * createMs;
  return [
    ...(congestedMs > createMsMax || afterMs > createMsMax
      ? [`p99 of creates (ms): ${shown(createsMs)}`]
      : []),
    ...(listCongestedMs > LIST_FACTOR_MAX * listMs ? [`p99 of lists (ms): ${shown(listsMs)}`] : []),
  ];
}

function failuresOf({ unanswered }: LoadResult, failed: number, what: string): string[] {
  return failed > 0 ? [`${failed} ${what} failed, ${unanswered} without a response`] : [];
}

function shown(values: readonly number[], digits = 1): string {
  return values.map((value) => value.toFixed(digits)).join(', ');
}

import type { DrillReport } from '../drill.ts';
import { p99 } from '../../harness/stolen-time.ts';
import type { LoadResult } from './open-loop.ts';

/**
 * Of the p99 of a bare server that gets as many requests at the same moment. The service does several times as much
 * per request, and a list waits for the requests before it: 3 to 4 times as much on an idle machine, and up to 6
 * beside other work.
 */
const LIST_FACTOR_MAX = 6;
/** Below this, the difference shows how the system schedules two processes, and not how busy they are. */
const LIST_MS_MIN = 5;
/** What may wait before an accepted create: 64 creates of 2 ms, and as many in a commit that has begun. */
const CREATE_MORE_MS_MAX = 300;
const REFUSAL_MORE_MS_MAX = 100;
/** Of what is accepted without overload. */
const ACCEPTED_SHARE_MIN = 0.5;
/** Without congestion: a pause of this machine lets more requests arrive at once than the store takes. */
const REFUSED_SHARE_MAX = 0.01;
const MEMORY_GROWTH_MIB_MAX = 32;

/** What was sent at the same time: creates and lists to the service, and lists to the bare server. */
export interface Phase {
  seconds: number;
  creates: LoadResult;
  lists: LoadResult;
  bareLists: LoadResult;
}

export interface Measured {
  before: Phase;
  during: Phase;
  after: Phase;
  memoryMib: [early: number, late: number];
}

export function judge({ before, during, after, memoryMib: [early, late] }: Measured): DrillReport {
  const phases = [before, during, after];
  const refused = during.creates.responses[503] ?? [];
  const refusalMs = p99(refused);
  const violations = [
    ...(refused.length === 0 ? ['no create was refused'] : []),
    ...(acceptedPerSecond(during) < ACCEPTED_SHARE_MIN * Math.max(1, acceptedPerSecond(before))
      ? [`${acceptedPerSecond(during)} creates per second were accepted`]
      : []),
    ...(refusalMs > p99(during.lists.responses[200] ?? []) + REFUSAL_MORE_MS_MAX
      ? [`p99 of refusals ${shown([refusalMs])} ms`]
      : []),
    ...(late - early > MEMORY_GROWTH_MIB_MAX ? [`memory grew from ${early} to ${late} MiB`] : []),
    ...phases.flatMap(faultsOf),
    ...[before, after].flatMap(({ creates }) => {
      const share = countOf(creates, 503) / creates.sent;
      return share > REFUSED_SHARE_MAX ? [`${share} were refused without congestion`] : [];
    }),
  ];
  const p99s = (of: (phase: Phase) => number[] | undefined) =>
    shown(phases.map((phase) => p99(of(phase) ?? [])));
  return {
    passed: violations.length === 0 ? 1 : 0,
    violations,
    figures: {
      'creates accepted, refused per second': `${acceptedPerSecond(during)}, ${Math.round(refused.length / during.seconds)}`,
      'p99 of accepted creates before, during, after (ms)': p99s(
        (each) => each.creates.responses[201],
      ),
      'p99 of the refusals (ms)': shown([refusalMs]),
      'p99 of lists before, during, after (ms)': p99s((each) => each.lists.responses[200]),
      'p99 of lists of a bare server at the same time (ms)': p99s(
        (each) => each.bareLists.responses[200],
      ),
      'memory after a third, at the end (MiB)': `${early}, ${late}`,
    },
  };
}

/** What was too slow or failed. Each time is compared with another one of the same moment. */
function faultsOf({ creates, lists, bareLists }: Phase): string[] {
  const createMs = p99(creates.responses[201] ?? []);
  const listMs = p99(lists.responses[200] ?? []);
  const bareMs = p99(bareLists.responses[200] ?? []);
  const failedCreates = creates.sent - countOf(creates, 201) - countOf(creates, 503);
  const failedLists = lists.sent - countOf(lists, 200);
  return [
    ...(createMs > listMs + CREATE_MORE_MS_MAX
      ? [`p99 of accepted creates ${shown([createMs])} ms, of lists ${shown([listMs])} ms`]
      : []),
    ...(listMs > Math.max(LIST_MS_MIN, LIST_FACTOR_MAX * bareMs)
      ? [`p99 of lists ${shown([listMs])} ms, of a bare server ${shown([bareMs])} ms`]
      : []),
    ...(failedCreates > 0
      ? [`${failedCreates} creates failed, ${creates.unanswered} without a response`]
      : []),
    ...(failedLists > 0
      ? [`${failedLists} lists failed, ${lists.unanswered} without a response`]
      : []),
  ];
}

function countOf({ responses }: LoadResult, status: number): number {
  return responses[status]?.length ?? 0;
}

function acceptedPerSecond({ creates, seconds }: Phase): number {
  return Math.round(countOf(creates, 201) / seconds);
}

function shown(values: readonly number[]): string {
  return values.map((value) => value.toFixed(1)).join(', ');
}

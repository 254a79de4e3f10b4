import { setTimeout as sleep } from 'node:timers/promises';
import { drill, type DrillOptions, type DrillReport } from '../drill.ts';
import type { Load } from '../../harness/load.ts';
import { runUnderLoad } from './under-load.ts';
import { newRandom } from '../../harness/random.ts';
import type { ServiceProcess } from '../../harness/service-process.ts';
import { findMissing, findPatroni, PatroniCluster } from './cluster.ts';

const CALM_MS = 1_000;
/** Twice the time after which Patroni elects another leader, which then acknowledges creates. */
const CUT_OFF_MS = 60_000;
/** After an event, the old leader joins again, or takes over. */
const SETTLE_MS = 15_000;
const RECOVERY_MS_MAX = 60_000;
/**
 * A request may wait 4 seconds for its keys and 4 more for its commit: a new leader is read before it has the
 * standby that its commits wait for. The rest is for a machine that also runs a whole cluster.
 */
const REQUEST_MS_MAX = 20_000;
/** Part of the error that the service logs about a primary that has lost commits. */
const LOST_PAST = 'has lost animals';

const EVENTS = [
  'switchover',
  'leader killed',
  "only the leader's Patroni killed",
  'leader cut off for a minute',
] as const;
type Event = (typeof EVENTS)[number];

// Each node has a network and processes of its own: etcd, Patroni with its default times, and PostgreSQL. 20 clients create
// and read, and retry with an `Idempotency-Key`. A new process then reads what is stored. A primary that the service
// refuses is a violation too: the cluster has lost commits.
drill(
  'a Patroni cluster of three: a switchover, the death of the leader and a partition that heals lose nothing and give no id twice',
  { unit: 'events', rounds: 12, quickRounds: 1, skip: findMissing() },
  (options) => run(options, { isSynchronous: true }),
  {
    'commits do not wait for a standby': {
      finds: ['is lost', LOST_PAST],
      search: (options) => run(options, { isSynchronous: false }),
    },
  },
);

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  { isSynchronous }: { isSynchronous: boolean },
): Promise<DrillReport> {
  const random = newRandom(seed);
  await using patroni = await findPatroni();
  const violations: string[] = [];
  const figures: Record<string, string> = { Patroni: patroni.version };
  let passed = 0;
  for (let round = 0; round < rounds; round += 1) {
    const event = EVENTS[round % EVENTS.length] ?? 'switchover';
    onProgress(`${round + 1} of ${rounds} events: ${event}`);
    // What an event has broken must not be seen by the next one.
    const cluster = await PatroniCluster.start(patroni.program, isSynchronous);
    try {
      const report = await runUnderEvent(cluster.url, async () => {
        await sleep(CALM_MS + random.integer(CALM_MS));
        await (isSynchronous ? provoke(cluster, event) : loseStandbys(cluster));
        await sleep(SETTLE_MS);
      });
      passed += report.passed;
      violations.push(...report.violations.map((each) => `${event}: ${each}`));
      const title = `${event}: ${Object.keys(report.figures).join(', ')}`;
      const before = figures[title] === undefined ? '' : `${figures[title]}; `;
      figures[title] = before + Object.values(report.figures).join(', ');
    } finally {
      await cluster.close();
    }
  }
  return { passed, violations, figures };
}

async function runUnderEvent(
  database: string,
  provokeIt: () => Promise<void>,
): Promise<DrillReport> {
  let refusal: string | undefined;
  let gapMs = 0;
  const report = await runUnderLoad({
    database,
    requestMsMax: REQUEST_MS_MAX,
    flags: ['--log', 'error'],
    async disturb(load, service) {
      const startedMs = performance.now();
      await provokeIt();
      refusal = await untilAcknowledgedOrRefused(load, service);
      gapMs = load.longestGapMs(startedMs);
      return {};
    },
  });
  const count = (pattern: RegExp) =>
    report.violations.filter((violation) => pattern.test(violation)).length;
  const figures = {
    acknowledged: report.figures['creates acknowledged'] ?? 0,
    lost: count(/ is lost$/),
    'ids given twice': count(/ is the id of both /),
    'stale reads': count(/^GET /),
    'seconds without a create': refusal === undefined ? (gapMs / 1_000).toFixed(1) : 'refused',
  };
  const refusals = refusal === undefined ? [] : [`the service refused the primary: ${refusal}`];
  return { passed: report.passed, violations: [...refusals, ...report.violations], figures };
}

/** Returns the line of the log if the service refuses the primary, which it then does for good. */
async function untilAcknowledgedOrRefused(
  load: Load,
  service: ServiceProcess,
): Promise<string | undefined> {
  const refusal = service.findLogLine(LOST_PAST);
  if (refusal === undefined) await load.untilAcknowledged(RECOVERY_MS_MAX);
  return refusal ?? service.findLogLine(LOST_PAST);
}

/** Resolves when there was another leader, and every node runs and is connected. */
async function provoke(cluster: PatroniCluster, event: Event): Promise<void> {
  const before = await cluster.requireLeader();
  switch (event) {
    case 'switchover':
      await cluster.switchOver(before);
      await cluster.untilOtherLeader(before);
      return;
    case 'leader killed':
      await cluster.kill(before);
      await cluster.untilOtherLeader(before);
      await cluster.start(before);
      return;
    case "only the leader's Patroni killed":
      cluster.killPatroni(before);
      await cluster.untilOtherLeader(before);
      cluster.startPatroni(before);
      return;
    case 'leader cut off for a minute':
      await cluster.cutOff(before);
      await Promise.all([cluster.untilOtherLeader(before), sleep(CUT_OFF_MS)]);
      await cluster.heal(before);
  }
}

/** The standbys are away while the leader acknowledges creates, and one of them becomes the leader. */
async function loseStandbys(cluster: PatroniCluster): Promise<void> {
  const leader = await cluster.requireLeader();
  const standbys = cluster.nodes.filter((node) => node !== leader);
  for (const standby of standbys) await cluster.kill(standby);
  await sleep(CALM_MS);
  await cluster.kill(leader);
  for (const standby of standbys) await cluster.start(standby);
  await cluster.untilOtherLeader(leader);
}

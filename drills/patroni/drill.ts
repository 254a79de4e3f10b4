import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import type { Load } from '../load.ts';
import { runUnderLoad } from '../postgres/under-load.ts';
import { newRandom } from '../random.ts';
import type { ServiceProcess } from '../service-process.ts';
import { mergeReports } from '../stores.ts';
import { findMissing, findPatroni, PatroniCluster } from './cluster.ts';

const CALM_MS = 1_000;
/** After an event, the old leader joins again, or takes over. */
const SETTLE_MS = 15_000;
const RECOVERY_MS_MAX = 60_000;
/** Three times the time after which Patroni elects another leader: the new one acknowledges creates meanwhile. */
const CUT_OFF_MS = 60_000;
/**
 * A request may wait 4 seconds for its keys and 4 more for its commit: a new leader is read before it has the
 * standby that its commits wait for. The rest is for a machine that also runs a whole cluster.
 */
const REQUEST_MS_MAX = 20_000;
/** The error that the service logs about a primary that has lost the past. */
const REFUSED = 'has lost animals';

const EVENTS = [
  'switched over',
  'leader killed',
  "only the leader's Patroni killed",
  'leader cut off for a minute',
] as const;
type Event = (typeof EVENTS)[number];

export const drill: Drill = {
  promise:
    'A Patroni cluster of three: a switchover, the death of the leader and a partition that heals lose nothing and give no id twice.',
  method:
    'Each node is a machine in namespaces of its own, with etcd, Patroni and PostgreSQL. 20 clients create and read, and retry with an `Idempotency-Key`. What is stored is read by a new process.',
  unit: 'events',
  rounds: 12,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing,
  run: (options) => run(options, { isSynchronous: true }),
  control: {
    brokenBy: 'commits that do not wait for a standby',
    finds: ['is lost', 'the service refused the primary'],
    run: (options) => run(options, { isSynchronous: false }),
  },
};

async function run(
  { rounds, seed, onProgress }: DrillOptions,
  { isSynchronous }: { isSynchronous: boolean },
): Promise<DrillReport> {
  const random = newRandom(seed);
  const reports: Record<string, DrillReport> = {};
  await using patroni = await findPatroni();
  for (let round = 0; round < rounds; round += 1) {
    const event = EVENTS[round % EVENTS.length] ?? 'leader killed';
    onProgress(`${round + 1} of ${rounds} events: ${event}`);
    // What an event has broken must not be seen by the next one.
    const cluster = await PatroniCluster.start(patroni.program, isSynchronous);
    try {
      const title = `${event} ${Math.floor(round / EVENTS.length) + 1}`;
      reports[isSynchronous ? title : 'control'] = await judge(cluster.url, async () => {
        await sleep(CALM_MS + random.integer(CALM_MS));
        await (isSynchronous ? provoke(cluster, event) : loseStandbys(cluster));
        await sleep(SETTLE_MS);
      });
    } finally {
      await cluster.close();
    }
  }
  const { figures, ...rest } = mergeReports(reports);
  return { ...rest, figures: { Patroni: patroni.version, ...figures } };
}

async function judge(database: string, provokeIt: () => Promise<void>): Promise<DrillReport> {
  let refusal: string | undefined;
  const report = await runUnderLoad({
    database,
    requestMsMax: REQUEST_MS_MAX,
    flags: ['--log', 'error'],
    isRestarted: true,
    async disturb(load, service) {
      const startedMs = performance.now();
      await provokeIt();
      refusal = await untilAcknowledgedOrRefused(load, service);
      const gap = (load.longestGapMs(startedMs) / 1_000).toFixed(1);
      return { 'seconds without a create': refusal === undefined ? gap : 'refused' };
    },
  });
  const violations = [...report.violations];
  const count = (pattern: RegExp) => violations.filter((each) => pattern.test(each)).length;
  const figures = {
    ...report.figures,
    'creates lost': count(/ is lost$/),
    'ids given twice': count(/ is the id of both /),
    'stale reads': count(/^GET /),
  };
  if (refusal !== undefined) violations.push(`the service refused the primary: ${refusal}`);
  return { ...report, violations, figures };
}

/** Returns the line of the log if the service refuses the primary. */
async function untilAcknowledgedOrRefused(
  load: Load,
  service: ServiceProcess,
): Promise<string | undefined> {
  const refusal = service.findLogLine(REFUSED);
  if (refusal === undefined) await load.untilAcknowledged(RECOVERY_MS_MAX);
  return refusal ?? service.findLogLine(REFUSED);
}

/** Resolves when there is another leader, and every node runs and is connected. */
async function provoke(cluster: PatroniCluster, event: Event): Promise<void> {
  const before = await cluster.requireLeader();
  const untilOther = () => cluster.untilOtherLeader(before);
  switch (event) {
    case 'switched over':
      await cluster.switchOver(before);
      await untilOther();
      break;
    case 'leader killed':
      await cluster.kill(before);
      await untilOther();
      await cluster.start(before);
      break;
    case "only the leader's Patroni killed":
      cluster.killPatroni(before);
      await untilOther();
      cluster.startPatroni(before);
      break;
    case 'leader cut off for a minute': {
      const [, healed] = [await cluster.cutOff(before), sleep(CUT_OFF_MS)];
      await untilOther();
      await healed;
      await cluster.heal(before);
      break;
    }
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
  await cluster.start(leader);
}

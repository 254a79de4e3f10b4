import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import type { Load } from '../load.ts';
import { runUnderLoad } from '../postgres/under-load.ts';
import { newRandom } from '../random.ts';
import { findMissingProgram, PatroniCluster, type Node } from './cluster.ts';

const NODES = 3;
const CALM_MS = 1_000;
const RECOVERY_MS_MAX = 60_000;
/**
 * A request may wait 4 seconds for its keys and 4 more for its commit: a new leader is read before it has the
 * standby that its commits wait for. The rest is for a machine that also runs a whole cluster.
 */
const REQUEST_MS_MAX = 20_000;

const EVENTS = ['leader killed', "only the leader's Patroni killed", 'switched over'] as const;
type Event = (typeof EVENTS)[number];

export const drill: Drill = {
  promise:
    'A Patroni cluster of three: the death of the leader and a switchover lose nothing and store nothing twice.',
  method: 'Kills and switchovers under 20 clients that retry with an `Idempotency-Key`.',
  unit: 'events',
  rounds: 7,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing: findMissingProgram,
  run: (options) => run(options, { isSynchronous: true }),
  control: {
    brokenBy: 'commits that do not wait for a standby',
    finds: ['is lost'],
    run: (options) => run(options, { isSynchronous: false }),
  },
};

async function run(
  options: DrillOptions,
  { isSynchronous }: { isSynchronous: boolean },
): Promise<DrillReport> {
  const cluster = await PatroniCluster.start(NODES, isSynchronous);
  try {
    return await runUnderLoad({
      database: cluster.url,
      requestMsMax: REQUEST_MS_MAX,
      disturb: (load) =>
        isSynchronous ? disturb(cluster, load, options) : loseStandbys(cluster, load),
    });
  } finally {
    await cluster.close();
  }
}

async function disturb(
  cluster: PatroniCluster,
  load: Load,
  { rounds, seed, onProgress }: DrillOptions,
): Promise<DrillReport['figures']> {
  const random = newRandom(seed);
  const figures: Record<string, string> = {};
  for (let round = 0; round < rounds; round += 1) {
    const event = EVENTS[round % EVENTS.length] ?? 'leader killed';
    onProgress(`${round + 1} of ${rounds} events: ${event}`);
    await sleep(CALM_MS + random.integer(CALM_MS));
    const startedMs = performance.now();
    await provoke(cluster, event);
    await load.untilAcknowledged(RECOVERY_MS_MAX);
    await cluster.untilComplete();
    const title = `${event}, seconds without a create`;
    const gap = (load.longestGapMs(startedMs) / 1_000).toFixed(1);
    figures[title] = figures[title] === undefined ? gap : `${figures[title]}, ${gap}`;
  }
  return figures;
}

/** Resolves when there is another leader. A node that was killed is started again. */
async function provoke(cluster: PatroniCluster, event: Event): Promise<void> {
  const before = await requireLeader(cluster);
  if (event === 'switched over') await cluster.switchOver(before);
  else cluster.kill(before, event !== 'leader killed');
  const isOther = (leader: Node | undefined) => leader !== undefined && leader !== before;
  await cluster.until('another leader', async () => isOther(await cluster.leader()));
  if (event !== 'switched over') cluster.start(before);
}

/** The standbys are away while the leader acknowledges creates, and one of them becomes the leader. */
async function loseStandbys(cluster: PatroniCluster, load: Load): Promise<DrillReport['figures']> {
  const leader = await requireLeader(cluster);
  const standbys = cluster.nodes.filter((node) => node !== leader);
  await sleep(CALM_MS);
  for (const standby of standbys) cluster.kill(standby);
  await sleep(CALM_MS);
  cluster.kill(leader);
  for (const standby of standbys) cluster.start(standby);
  await cluster.until('another leader', async () => (await cluster.leader()) !== undefined);
  await load.untilAcknowledged(RECOVERY_MS_MAX);
  return {};
}

async function requireLeader(cluster: PatroniCluster): Promise<Node> {
  const leader = await cluster.leader();
  if (leader === undefined) throw new Error('the cluster has no leader');
  return leader;
}

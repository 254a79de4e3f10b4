import { setTimeout as sleep } from 'node:timers/promises';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom, type Random } from '../random.ts';
import { Load } from '../postgres/load.ts';
import { openHttpTarget } from '../postgres/target.ts';
import { findMissingProgram, PatroniCluster, type Node } from './patroni-cluster.ts';
import { openWatched } from './watched-target.ts';

const NODES = 3;
const CLIENTS = 20;
const CALM_MS = 1_000;
const RECOVERY_MS_MAX = 60_000;
/**
 * A request may wait 4 seconds for its keys and 4 more for its commit: a new leader is read before it has the
 * standby that its commits wait for. The rest is for a machine that also runs a whole cluster.
 */
const CALL_MS_MAX = 20_000;

/** The events of seven rounds. Their order follows from the seed. */
const EVENTS = [
  'leader killed',
  'leader killed',
  'leader killed',
  "only the leader's Patroni killed",
  "only the leader's Patroni killed",
  'switched over',
  'switched over',
] as const;
type Event = (typeof EVENTS)[number];

export const drill: Drill = {
  purpose:
    'Patroni with three nodes and etcd: leaders are killed and switched over under load. No acknowledged animal is lost, and none is stored twice by creates that are repeated with their Idempotency-Key.',
  unit: 'events',
  rounds: EVENTS.length,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing: findMissingProgram,
  run,
  control: { brokenBy: 'commits that do not wait for a standby', run: runControl },
};

async function run({ rounds, seed, onProgress }: DrillOptions): Promise<DrillReport> {
  const random = newRandom(seed);
  const events = shuffle(EVENTS, random);
  const figures: Record<string, string | number> = {};
  const cluster = await PatroniCluster.start(NODES, true);
  try {
    const { target, acknowledgements } = await openWatched(openHttpTarget, cluster.url);
    const load = new Load(target, CALL_MS_MAX);
    load.start(CLIENTS);
    for (let round = 1; round <= rounds; round += 1) {
      const event = events[(round - 1) % events.length] ?? 'leader killed';
      onProgress(`${round} of ${rounds} events: ${event}`);
      await sleep(CALM_MS + random.integer(CALM_MS));
      const startedMs = performance.now();
      await provoke(cluster, event);
      await load.untilAcknowledged(RECOVERY_MS_MAX);
      await cluster.untilComplete();
      const gapMs = acknowledgements.longestGapMs(startedMs);
      figures[`${round}: ${event}, seconds without a create`] = (gapMs / 1_000).toFixed(1);
    }
    await load.stop();
    const { acknowledged, refused, slowestCallMs, violations } = await load.check();
    const all = [...violations, ...(await target.close())];
    return {
      passed: acknowledged,
      violations: all,
      figures: { ...figures, acknowledged, refused, 'slowest call (ms)': slowestCallMs },
    };
  } finally {
    await cluster.close();
  }
}

/** Resolves when there is another leader. A node that was killed is started again. */
async function provoke(cluster: PatroniCluster, event: Event): Promise<void> {
  const before = await cluster.leader();
  if (before === undefined) throw new Error('the cluster has no leader');
  const isOther = (leader: Node | undefined) => leader !== undefined && leader !== before;
  if (event === 'switched over') await cluster.switchOver(before);
  else cluster.kill(before, event !== 'leader killed');
  await cluster.until('another leader', async () => isOther(await cluster.leader()));
  if (event !== 'switched over') cluster.start(before);
}

/** The standbys are away while the leader acknowledges creates, and one of them becomes the leader. */
async function runControl({ onProgress }: DrillOptions): Promise<DrillReport> {
  onProgress('control');
  const cluster = await PatroniCluster.start(NODES, false);
  try {
    const leader = await cluster.leader();
    if (leader === undefined) throw new Error('the cluster has no leader');
    const standbys = cluster.nodes.filter((node) => node !== leader);
    const target = await openHttpTarget(cluster.url);
    const load = new Load(target, CALL_MS_MAX);
    load.start(CLIENTS);
    await sleep(CALM_MS);
    for (const standby of standbys) cluster.kill(standby);
    await sleep(CALM_MS);
    cluster.kill(leader);
    for (const standby of standbys) cluster.start(standby);
    await cluster.until('another leader', async () => (await cluster.leader()) !== undefined);
    await load.untilAcknowledged(RECOVERY_MS_MAX);
    await load.stop();
    const { acknowledged, violations } = await load.check();
    await target.close();
    return { passed: acknowledged, violations, figures: {} };
  } finally {
    await cluster.close();
  }
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  const shuffled = [...items];
  for (let index = shuffled.length - 1; index > 0; index -= 1) {
    const other = random.integer(index + 1);
    const kept = shuffled[index] as Item;
    shuffled[index] = shuffled[other] as Item;
    shuffled[other] = kept;
  }
  return shuffled;
}

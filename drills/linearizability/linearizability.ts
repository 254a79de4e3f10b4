import { randomBytes } from 'node:crypto';
import { newSecret } from '../../src/domain/api-key.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../random.ts';
import { findViolations, type CreateRecord } from './checker.ts';
import { Follower } from './follower.ts';
import { Processes, type Fault, type StoreName } from './processes.ts';
import { tellStory } from './story.ts';

const SHOWN_EVERY = 10;

interface Totals {
  histories: number;
  creates: number;
  reads: number;
  failures: number;
  /** Animals that were read by following `rel="next"` all the while. */
  followed: number;
  faults: Map<Fault, number>;
  violations: string[];
}

export interface LinearizabilityOptions extends DrillOptions {
  stores?: readonly StoreName[];
  /** The program to run instead of the service. */
  main?: string;
}

/** Half of the histories on each store. */
export async function drillLinearizability(options: LinearizabilityOptions): Promise<DrillReport> {
  const { stores = ['SQLite', 'PostgreSQL'], rounds } = options;
  const totals: Totals = {
    histories: 0,
    creates: 0,
    reads: 0,
    failures: 0,
    followed: 0,
    faults: new Map(),
    violations: [],
  };
  let passed = 0;
  for (const [index, store] of stores.entries()) {
    const count = Math.floor((rounds + index) / stores.length);
    passed += await runOn(store, count, options, totals);
  }
  const { histories, creates, reads, failures, followed, faults, violations } = totals;
  return {
    passed,
    violations,
    figures: {
      histories,
      'creates, reads': `${creates}, ${reads}`,
      'requests without a response, or with 503': failures,
      'animals read once and in order by following next': followed,
      ...Object.fromEntries([...faults].map(([fault, times]) => [`histories: ${fault}`, times])),
    },
  };
}

/** Returns the number of histories without a violation. */
async function runOn(
  store: StoreName,
  count: number,
  { seed, main, onProgress }: LinearizabilityOptions,
  totals: Totals,
): Promise<number> {
  const key = newSecret('production', randomBytes);
  const processes = await Processes.open(store, key, main);
  const follower = new Follower(() => processes.pickUrl(newRandom(performance.now())), key);
  let passed = 0;
  try {
    let afterId = 0;
    let lost: CreateRecord[] = [];
    for (let index = 0; index < count; index += 1) {
      const random = newRandom(seed + index);
      const fault = processes.pickFault(random);
      const name = `${index}`;
      const story = await tellStory({ processes, random, key, name, afterId, fault });
      // A create without a response may still be stored during a later history.
      const creates = [...lost, ...story.creates];
      const found = [...story.violations, ...findViolations({ ...story, creates })];
      const seen = story.reads.flatMap(({ observed }) =>
        observed.kind === 'list' ? observed.pets : [],
      );
      const names = new Set(seen.map((pet) => pet.name));
      lost = creates.filter((create) => create.pet === undefined && !names.has(create.name));
      afterId = Math.max(afterId, ...seen.map(({ id }) => id));
      totals.histories += 1;
      totals.creates += story.creates.length;
      follower.expect(story.creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet])));
      totals.reads += story.reads.length;
      totals.failures += story.failures;
      totals.faults.set(fault, (totals.faults.get(fault) ?? 0) + 1);
      totals.violations.push(
        ...found.map((text) => `${store}, history ${index}, ${fault}: ${text}`),
      );
      if (found.length === 0) passed += 1;
      if (index % SHOWN_EVERY === 0) onProgress(`${store}: ${index} of ${count} histories`);
    }
  } finally {
    const missed = await follower.stop();
    totals.violations.push(
      ...missed.map((text) => `${store}, a reader that follows next: ${text}`),
    );
    totals.followed += follower.count;
    totals.violations.push(...(await processes.close()));
  }
  return passed;
}

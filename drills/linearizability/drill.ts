import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../../src/domain/api-key.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../../harness/random.ts';
import { mergeReports } from '../stores.ts';
import { findViolations, type CreateRecord } from './checker.ts';
import { Follower } from './follower.ts';
import { Processes, type StoreName } from './processes.ts';
import { tellStory } from './story.ts';

const SHOWN_EVERY = 10;

const UNCHECKED_CACHE = fileURLToPath(new URL('unchecked-cache.ts', import.meta.url));

export const drill: Drill = {
  promise:
    'Reads are linearizable, ids are in the order of commits, and a reader that follows `rel="next"` sees every animal once, in order.',
  method:
    '6 clients create, list and get through 2 processes on SQLite or 3 on PostgreSQL, with killed processes, cut connections and restarts of PostgreSQL; an exact checker judges each history, and one more client follows the list all the while.',
  unit: 'histories',
  rounds: 1_000,
  quickRounds: 20,
  run: drillLinearizability,
  control: {
    brokenBy: 'a cache that does not check the version of the store',
    finds: ['did not see it'],
    run: (options) => drillLinearizability({ ...options, main: UNCHECKED_CACHE }),
  },
};

export interface LinearizabilityOptions extends DrillOptions {
  stores?: readonly StoreName[];
  /** The program to run instead of the service. */
  main?: string;
}

/** Half of the histories on each store. */
export async function drillLinearizability(options: LinearizabilityOptions): Promise<DrillReport> {
  const { stores = ['SQLite', 'PostgreSQL'], rounds } = options;
  const reports: Record<string, DrillReport> = {};
  for (const [index, store] of stores.entries()) {
    const count = Math.floor((rounds + index) / stores.length);
    reports[store] = await runOn(store, count, options);
  }
  return mergeReports(reports);
}

async function runOn(
  store: StoreName,
  count: number,
  { seed, main, onProgress }: LinearizabilityOptions,
): Promise<DrillReport> {
  const key = newSecret('production', randomBytes);
  const processes = await Processes.open(store, key, main);
  const follower = new Follower(() => processes.pickUrl(newRandom(performance.now())), key);
  const figures = { histories: count, creates: 0, reads: 0, 'without a response, or with 503': 0 };
  const violations: string[] = [];
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
      violations.push(...found.map((text) => `history ${index}, ${fault}: ${text}`));
      if (found.length === 0) passed += 1;
      const seen = story.reads.flatMap(({ observed }) =>
        observed.kind === 'list' ? observed.pets : [],
      );
      const names = new Set(seen.map((pet) => pet.name));
      lost = creates.filter((create) => create.pet === undefined && !names.has(create.name));
      afterId = Math.max(afterId, ...seen.map(({ id }) => id));
      follower.expect(story.creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet])));
      figures.creates += story.creates.length;
      figures.reads += story.reads.length;
      figures['without a response, or with 503'] += story.failures;
      if (index % SHOWN_EVERY === 0) onProgress(`${store}: ${index} of ${count} histories`);
    }
  } finally {
    const missed = await follower.stop();
    violations.push(...missed.map((text) => `a reader that follows next: ${text}`));
    violations.push(...(await processes.close()));
  }
  const followed = { 'read once and in order by following next': follower.count };
  return { passed, violations, figures: { ...figures, ...followed } };
}

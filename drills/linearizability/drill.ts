import { randomBytes } from 'node:crypto';
import { newSecret } from '../../src/domain/api-key.ts';
import { runHere, type Finished } from '../../harness/command.ts';
import { brokenByBug } from '../broken/broken.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { newRandom } from '../../harness/random.ts';
import { mergeReports } from '../stores.ts';
import { findViolations, type CreateRecord } from './checker.ts';
import { Follower } from './follower.ts';
import { Processes, type StoreName } from './processes.ts';
import { NO_SUCH_ID, tellStory } from './story.ts';

const SHOWN_EVERY = 10;

export const drill: Drill = {
  promise:
    'Reads are linearizable, also after changes by `petstore catalogue`; ids are in the order of commits and never given twice; and a reader that follows `rel="next"` sees every animal once, in order.',
  method:
    '6 clients create, list, get, and change or remove animals by commands, through 2 processes on SQLite or 3 on PostgreSQL, with killed processes, cut connections and restarts of PostgreSQL; an exact checker judges each history, and one more client follows the list all the while.',
  unit: 'histories',
  rounds: 1_000,
  quickRounds: 20,
  run: drillLinearizability,
  control: {
    brokenBy:
      'a cache that does not check the version of the store, and commands that report success and change nothing',
    finds: ['cache: SQLite: history', 'commands: SQLite: history'],
    run: async (options) => {
      const stores = ['SQLite'] as const;
      const nodeFlags = brokenByBug('the cache ignores the version of the store');
      return mergeReports({
        cache: await drillLinearizability({ ...options, stores, nodeFlags }),
        commands: await drillLinearizability({ ...options, stores, runCommand: changeNothing }),
      });
    },
  },
};

/** A command that names an id that does not exist must still be refused. */
async function changeNothing(args: readonly string[]): Promise<Finished> {
  return { code: args.includes(NO_SUCH_ID) ? 1 : 0, stdout: '', stderr: '' };
}

export interface LinearizabilityOptions extends DrillOptions {
  stores?: readonly StoreName[];
  /** These break the service on purpose. */
  nodeFlags?: readonly string[];
  runCommand?: typeof runHere;
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
  { seed, nodeFlags, runCommand = runHere, onProgress }: LinearizabilityOptions,
): Promise<DrillReport> {
  const key = newSecret('production', randomBytes);
  const processes = await Processes.open(store, { key, nodeFlags });
  const follower = new Follower(() => processes.pickUrl(newRandom(performance.now())), key);
  const figures = { creates: 0, commands: 0, reads: 0, 'without a response, or with 503': 0 };
  const violations: string[] = [];
  let passed = 0;
  try {
    let afterId = 0;
    let lost: CreateRecord[] = [];
    for (let index = 0; index < count; index += 1) {
      const random = newRandom(seed + index);
      const fault = processes.pickFault(random);
      const name = `${index}`;
      const story = await tellStory({ processes, random, key, name, afterId, fault, runCommand });
      // A create without a response may still be stored during a later history.
      const creates = [...lost, ...story.creates];
      const acknowledged = story.creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet]));
      const found = [...story.violations, ...findViolations({ ...story, creates })];
      const again = acknowledged.filter(({ id }) => id <= afterId);
      found.push(...again.map(({ id }) => `the id ${id} was given twice`));
      violations.push(...found.map((text) => `history ${index}, ${fault}: ${text}`));
      if (found.length === 0) passed += 1;
      const seen = story.reads.flatMap(({ observed }) =>
        observed.kind === 'list' ? observed.pets : [],
      );
      const names = new Set(seen.map((pet) => pet.name));
      lost = creates.filter((create) => create.pet === undefined && !names.has(create.name));
      afterId = Math.max(afterId, ...[...seen, ...acknowledged].map(({ id }) => id));
      follower.expect(acknowledged, story.commands);
      figures.creates += story.creates.length;
      figures.commands += story.commands.length;
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
  return { passed, violations, figures: { histories: count, ...figures, ...followed } };
}

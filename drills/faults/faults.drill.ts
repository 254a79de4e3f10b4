import { describe } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { listAll, type WirePet } from '../../harness/client.ts';
import { runHere } from '../../harness/command.ts';
import { newRandom, type Random } from '../../harness/random.ts';
import { until as untilTrue } from '../../harness/until.ts';
import { brokenByBug } from '../broken/broken.ts';
import { drill, isQuick, type DrillOptions, type DrillReport } from '../drill.ts';
import { findViolations, type CreateRecord } from './checker.ts';
import { Deployment, type StoreName } from './deployment.ts';
import { Follower } from './follower.ts';
import { searchKills } from './killed.ts';
import { restoreByCopy, searchRestores } from './restore.ts';
import { FAULTS, type Break, type Fault } from './table.ts';
import { KINDS, Workload } from './workload.ts';

const QUICK_ROUNDS = 1;
const ROUNDS = 50;
/** So many faults at once, on up to two stores each. */
const QUICK_FAULTS = 3;
/** A control ends when it has found what it must. */
const CONTROL_ROUNDS = 25;
/** How long a fault waits for what must happen. In a control it may never happen. */
const WAIT_MS_MAX = 60_000;
const CONTROL_WAIT_MS_MAX = 5_000;

// Faults mostly wait. In a full run each has the machine for itself, so that a seed repeats more.
describe('faults', { concurrency: isQuick ? QUICK_FAULTS : 1 }, () => {
  for (const fault of FAULTS) {
    const { name, rounds = ROUNDS, skip = false, controls } = fault;
    drill(
      name,
      { unit: 'rounds', rounds, quickRounds: QUICK_ROUNDS, skip },
      (options) => search(fault, options),
      Object.fromEntries(
        Object.entries(controls).map(([brokenBy, { finds, ...broken }]) => [
          brokenBy,
          {
            finds: [finds],
            search: (options) =>
              search(fault, { ...options, rounds: CONTROL_ROUNDS }, { ...broken, finds }),
          },
        ]),
      ),
    );
  }

  drill(
    'the store is lost in any way and restored, twice from one backup',
    { unit: 'rounds', rounds: 100, quickRounds: 2 },
    searchRestores,
    {
      'the backup is only moved into place': {
        finds: ['was given again', 'an ended key got'],
        search: (options) => searchRestores(options, restoreByCopy),
      },
    },
  );

  drill(
    'an import, a copy and a list of the console are ended at any moment, and done again',
    { unit: 'rounds', rounds: 50, quickRounds: 2 },
    (options) => searchKills(options),
    Object.fromEntries(
      Object.entries({
        'an import forgets where it was': 'an import',
        'a copy to PostgreSQL that is killed leaves a part of the animals': 'a copy',
        'a list whose response was lost is added twice': 'a list',
      }).map(([bug, found]) => [
        bug,
        {
          finds: [found],
          search: (options: DrillOptions) =>
            searchKills({ ...options, rounds: CONTROL_ROUNDS }, brokenByBug(bug)),
        },
      ]),
    ),
  );
});

/** Causes the fault again and again, on each of its stores. A control uses one of them. */
async function search(fault: Fault, options: DrillOptions, broken?: Break): Promise<DrillReport> {
  const [first = 'SQLite'] = fault.stores;
  const violations: string[] = [];
  const counts: Record<string, number> = {};
  let passed = 0;
  const onStore = async (store: StoreName) => {
    for (const history of await runOn(store, fault, options, broken)) {
      violations.push(...history.violations.map((text) => `${store}, ${text}`));
      passed += history.passed;
      for (const [kind, count] of Object.entries(history.counts)) {
        counts[kind] = (counts[kind] ?? 0) + count;
      }
    }
  };
  const stores = broken === undefined ? fault.stores : [broken.store ?? first];
  await Promise.all(stores.map(onStore));
  if (broken === undefined) {
    const kinds = KINDS.filter((kind) => kind !== 'commands' || fault.losesCommands !== true);
    const missing = kinds.filter((kind) => counts[kind] === undefined);
    violations.push(...missing.map((kind) => `none of the requests were ${kind}`));
  }
  const figures = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`);
  return { passed, violations, figures: { requests: figures.join(', ') } };
}

interface Round {
  /** How many operations were explained. */
  passed: number;
  violations: string[];
  counts: Record<string, number>;
  /** Nothing more can be tried on the deployment. */
  hasEnded: boolean;
}

async function runOn(
  store: StoreName,
  fault: Fault,
  { rounds, seed, onProgress }: DrillOptions,
  broken?: Break,
): Promise<Round[]> {
  const nodeFlags = [...(fault.setup?.nodeFlags ?? []), ...(broken?.nodeFlags ?? [])];
  const setup = { ...fault.setup, ...broken?.setup, store, nodeFlags };
  const done: Round[] = [];
  const isFound = () => {
    const { finds = '' } = broken ?? {};
    return broken !== undefined && done.flatMap(violationsOf).some((text) => text.includes(finds));
  };
  while (done.length < rounds && !isFound()) {
    await using deployment = await Deployment.open(setup);
    const run = new Run(fault, deployment, broken);
    let round: Round;
    do {
      onProgress(`${store}, ${done.length} of ${rounds} rounds`);
      round = await run.tell(done.length, newRandom(seed + done.length));
      done.push(round);
    } while (done.length < rounds && !isFound() && fault.isLast !== true && !round.hasEnded);
    if (isFound()) run.close();
    else round.violations.push(...(await run.end()));
  }
  return done;
}

const violationsOf = ({ violations }: Round) => violations;

/** All rounds on one deployment, and what they have in common. */
class Run {
  readonly #fault: Fault;
  readonly #deployment: Deployment;
  readonly #broken: Break | undefined;
  readonly #follower: Follower;
  /** What was stored at the end of each round. */
  readonly #stored = new Map<number, WirePet>();
  /** These may be changed or removed at any later moment: nobody knows. */
  readonly #unknown = new Set<number>();
  /** A create without a response may be stored at any later moment. */
  #lost: CreateRecord[] = [];
  #highestId = 0;

  constructor(fault: Fault, deployment: Deployment, broken: Break | undefined) {
    this.#fault = fault;
    this.#deployment = deployment;
    this.#broken = broken;
    const random = newRandom(0);
    this.#follower = new Follower(() => deployment.pickOrigin(random), deployment.key);
  }

  async tell(round: number, random: Random): Promise<Round> {
    const [fault, deployment] = [this.#fault, this.#deployment];
    const waitMsMax = this.#broken === undefined ? WAIT_MS_MAX : CONTROL_WAIT_MS_MAX;
    const until = (what: string, isTrue: () => boolean | Promise<boolean>) =>
      untilTrue(what, isTrue, waitMsMax);
    const runCommand = this.#broken?.runCommand ?? runHere;
    const workload = new Workload({
      pickOrigin: () => deployment.pickOrigin(random),
      random,
      key: deployment.key,
      name: `${round}`,
      afterId: this.#highestId,
      may: fault.may,
      runCommand: fault.losesCommands === true ? undefined : runCommand,
      storeFlags: deployment.storeFlags,
      until,
    });
    const violations: string[] = [];
    let hasEnded = false;
    try {
      await workload.run(async () => {
        const context = { deployment, random, workload, runCommand, until };
        violations.push(...((await fault.cause(context)) ?? []));
      });
      violations.push(...this.#check(workload), ...(await deployment.verify()));
    } catch (error) {
      violations.push(`${String(error)} ${deployment.logged()}`);
      hasEnded = true;
    }
    violations.push(...workload.violations);
    const { creates, changes, commands, reads, counts } = workload;
    const isRight = violations.length === 0;
    return {
      passed: isRight ? creates.length + changes.length + commands.length + reads.length : 0,
      violations: violations.map((text) => `round ${round}: ${text}`),
      counts,
      hasEnded,
    };
  }

  #check(workload: Workload): string[] {
    const { changes, commands, reads, stored } = workload;
    const creates = [...this.#lost, ...workload.creates];
    const violations = findViolations({ creates, changes, commands, reads });
    const acknowledged = workload.creates.flatMap(({ pet }) => (pet === undefined ? [] : [pet]));
    const again = acknowledged.filter(({ id }) => id <= this.#highestId);
    violations.push(...again.map(({ id }) => `the id ${id} was given again`));
    this.#follower.expect(acknowledged, changes, commands);
    for (const pet of stored) this.#stored.set(pet.id, pet);
    for (const { from, outcome } of changes) if (outcome === 'unknown') this.#unknown.add(from.id);
    const seen = reads.flatMap(({ observed }) => (observed.kind === 'list' ? observed.pets : []));
    const names = new Set(seen.map(({ name }) => name));
    this.#lost = creates.filter(({ name, pet }) => pet === undefined && !names.has(name));
    this.#highestId = Math.max(this.#highestId, ...[...seen, ...acknowledged].map(({ id }) => id));
    return violations;
  }

  close(): void {
    this.#follower.close();
  }

  /** A later fault must not lose what an earlier one left. */
  async end(): Promise<string[]> {
    const followed = await this.#follower.stop();
    const violations =
      this.#fault.showsMore === true
        ? []
        : followed.map((text) => `a reader that follows next: ${text}`);
    const { baseUrl } = this.#deployment.pickService(newRandom(0));
    const now = new Map(
      (await listAll({ baseUrl, key: this.#deployment.key })).map((pet) => [pet.id, pet]),
    );
    const ids = new Set([...now.keys(), ...this.#stored.keys()]).difference(this.#unknown);
    const lost = new Set(this.#lost.map(({ name }) => name));
    for (const id of ids) {
      const [before, after] = [this.#stored.get(id), now.get(id)];
      const isLate = before === undefined && lost.has(after?.name ?? '');
      if (isLate || isDeepStrictEqual(before, after)) continue;
      violations.push(`${JSON.stringify(before)} has become ${JSON.stringify(after)} later`);
    }
    violations.push(...(await this.#deployment.stop()));
    return violations;
  }
}

import { PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import type { Random } from '../../harness/random.ts';
import { FAULTS, type Fault } from './database.ts';

export const KEYS = 3;
/** Of one deployment. */
export const SERVICES = 2;
const HOUR_MS = 3_600_000;

/** What happens to a request on its way. */
interface Sent {
  /** The next request is sent before this one has its response. */
  isOverlapped: boolean;
  /** Which of the services gets it. */
  service: number;
}

/**
 * One step of a story. `which` chooses among what is there at that moment, so that a story stays a story when
 * other steps are left out.
 */
export type Step =
  /** Of a create that is watched, others read the end of the list meanwhile, and its client then does so too. */
  | (Sent & {
      do: 'create';
      key: number;
      isClaimed: boolean;
      status: PetStatus;
      isLost: boolean;
      isWatched: boolean;
    })
  | (Sent & { do: 'retry'; which: number; isLost: boolean })
  | (Sent & { do: 'repeat'; which: number; isChanged: boolean })
  | (Sent & {
      do: 'list';
      key: number;
      limit: number;
      status: PetStatus | undefined;
      after: number;
      isConditional: boolean;
    })
  | (Sent & { do: 'get'; key: number; which: number })
  | { do: 'set status'; which: number; status: PetStatus }
  | { do: 'remove'; which: number }
  | { do: 'revoke'; key: number }
  | { do: 'new key'; key: number; lifeMs: number | undefined }
  | { do: 'fault'; fault: Fault }
  | { do: 'jump'; byMs: number }
  | { do: 'wait'; ms: number }
  | { do: 'restart'; isKilled: boolean };

/** A step that sends a request. */
export type Request = Extract<Step, Sent>;

type NewStep = (random: Random) => Step;

const sent = (random: Random): Sent => ({
  isOverlapped: random.isOneIn(2),
  service: random.integer(SERVICES),
});
const which = (random: Random) => random.integer(1_000);
/** Mostly the same key: claims and caches are about repetition. */
const key = (random: Random) => (random.isOneIn(3) ? random.integer(KEYS) : 0);

const NEW_STEPS: readonly [weight: number, newStep: NewStep][] = [
  [
    30,
    (random) => ({
      do: 'create',
      key: key(random),
      isClaimed: !random.isOneIn(3),
      status: random.pick(PET_STATUSES),
      isLost: random.isOneIn(5),
      isWatched: random.isOneIn(4),
      ...sent(random),
    }),
  ],
  [
    12,
    (random) => ({ do: 'retry', which: which(random), isLost: random.isOneIn(5), ...sent(random) }),
  ],
  [
    6,
    (random) => ({
      do: 'repeat',
      which: which(random),
      isChanged: random.isOneIn(3),
      ...sent(random),
    }),
  ],
  [
    20,
    (random) => ({
      do: 'list',
      key: key(random),
      limit: random.pick([1, 3, 20, 100]),
      status: random.isOneIn(2) ? undefined : random.pick(PET_STATUSES),
      after: random.isOneIn(2) ? 0 : which(random),
      isConditional: random.isOneIn(2),
      ...sent(random),
    }),
  ],
  [8, (random) => ({ do: 'get', key: key(random), which: which(random), ...sent(random) })],
  [4, (random) => ({ do: 'set status', which: which(random), status: random.pick(PET_STATUSES) })],
  [2, (random) => ({ do: 'remove', which: which(random) })],
  [1, (random) => ({ do: 'revoke', key: random.integer(KEYS) })],
  [
    2,
    (random) => ({
      do: 'new key',
      key: random.integer(KEYS),
      lifeMs: random.isOneIn(2) ? undefined : random.integer(2 * HOUR_MS),
    }),
  ],
  [8, (random) => ({ do: 'fault', fault: random.pick(FAULTS) })],
  [3, (random) => ({ do: 'jump', byMs: (random.integer(60) - 30) * HOUR_MS })],
  [4, (random) => ({ do: 'wait', ms: random.pick([10, 1_500, 6_000]) })],
  [2, (random) => ({ do: 'restart', isKilled: random.isOneIn(2) })],
];

const CHOICES: readonly NewStep[] = NEW_STEPS.flatMap(([weight, newStep]) =>
  Array.from({ length: weight }, () => newStep),
);

export function newStory(random: Random, steps: number): Step[] {
  const story: Step[] = [];
  let list: Step | undefined;
  while (story.length < steps) {
    // Only a page that is requested again is cached, and two random lists are rarely the same.
    const step = (random.isOneIn(4) ? list : undefined) ?? random.pick(CHOICES)(random);
    if (step.do === 'list') list = step;
    story.push(step);
  }
  return story;
}

/** One line per step. */
export function tell(story: readonly Step[]): string[] {
  return story.map(({ do: name, ...details }, index) => {
    const told = Object.entries(details).map(([detail, value]) => `${detail}=${String(value)}`);
    return `${index + 1}. ${name} ${told.join(' ')}`;
  });
}

/** Leaves out steps while the story still fails. Returns the shortest one that was found. */
export async function shrink(
  story: readonly Step[],
  fails: (story: readonly Step[]) => Promise<boolean>,
): Promise<readonly Step[]> {
  let shortest = story;
  for (let size = Math.ceil(story.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = 0; at < shortest.length;) {
      const without = [...shortest.slice(0, at), ...shortest.slice(at + size)];
      if (await fails(without)) {
        shortest = without;
        isShorter = true;
      } else at += size;
    }
    if (size === 1 && !isShorter) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  return shortest;
}

import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { ask, type Answer, type Question } from './dialog.ts';
import { element } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { counted } from './fields.ts';
import { faultNotice } from './notice.ts';
import { petName } from './pet.ts';
import type { Session } from './session.ts';
import { Toast } from './toast.ts';

/** What a person changes of an animal. */
export type Edit = Partial<Pick<Pet, 'name' | 'categoryId' | 'status'>>;

/** An animal as the person saw it, and what is to be changed of it. */
interface Change {
  seen: Pet;
  to: Edit;
}

/** The animal as it is now, and how to undo the change; without that it is as somebody else has made it. */
interface Changed {
  now: Pet | undefined;
  undo?: Change;
  /** What the person chose after a conflict. */
  answer?: Answer;
}

export interface Progress {
  signal: AbortSignal;
  onCount: (done: number) => void;
}

export interface ChangeEvents {
  keyNeeded: (fault?: Fault) => void;
  /** The animal is like this now. */
  shown: (pet: Pet) => void;
  gone: (id: bigint) => void;
  /** A button that had the focus has gone. */
  focus: (id: bigint) => void;
}

/** Changes and removes animals as the person saw them, says what became of it, and undoes it. */
export class Changes {
  readonly #session: Session;
  readonly #on: ChangeEvents;
  readonly #toast: Toast;
  #lastId = 0n;

  constructor(session: Session, on: ChangeEvents) {
    this.#session = session;
    this.#on = on;
    this.#toast = new Toast(() => on.focus(this.#lastId));
  }

  /**
   * Changes an animal. If somebody else has changed it, the person sees both versions and chooses. Throws if it is gone
   * or the request fails.
   */
  async change(seen: Pet, to: Edit): Promise<Changed> {
    const changed = await this.#changeOrAsk({ seen, to });
    if (changed.undo !== undefined) this.#say([doneWords([changed.undo])], [changed.undo]);
    return changed;
  }

  /** Gives animals one status, and says what became of it. Returns those that were not changed. */
  mark(pets: readonly Pet[], status: PetStatus, progress?: Progress): Promise<Pet[]> {
    const wanted = pets.map((seen) => ({ seen, to: { status } }));
    return this.#changeAll(wanted, progress);
  }

  async #changeAll(wanted: readonly Change[], progress?: Progress): Promise<Pet[]> {
    const rest = [...wanted];
    const undo: Change[] = [];
    const refused: [seen: Pet, now: Pet | undefined][] = [];
    let fault: Fault | undefined;
    while (rest[0] !== undefined && fault === undefined && progress?.signal.aborted !== true) {
      const [change] = rest;
      progress?.onCount(wanted.length - rest.length);
      try {
        const isOne = wanted.length === 1;
        const changed = await (isOne ? this.#changeOrAsk(change) : this.#changeOrLeave(change));
        if (changed.undo !== undefined) undo.push(changed.undo);
        else if (!isOne) refused.push([change.seen, changed.now]);
        rest.shift();
      } catch (error) {
        fault = explain(error);
      }
    }
    if (fault?.isKeyRefused === true) this.#on.keyNeeded(fault);
    this.#say(
      [
        ...(undo.length > 0 ? [doneWords(undo)] : []),
        ...(refused.length > 0 ? [refusedNotice(refused, wanted.length)] : []),
        ...(fault === undefined ? [] : [this.#faultNotice(fault, rest)]),
      ],
      undo,
    );
    return [...refused.map(([seen]) => seen), ...rest.map(({ seen }) => seen)];
  }

  #faultNotice(fault: Fault, rest: readonly Change[]): HTMLElement {
    const name = rest[0]?.seen.name ?? '';
    const gone = { title: `${name} is gone`, remedy: 'Somebody has removed it.' };
    return faultNotice(fault.isGone ? { ...fault, ...gone } : fault, () => {
      this.#toast.end();
      void this.#changeAll(rest);
    });
  }

  #say(words: readonly HTMLElement[], undo: readonly Change[]): void {
    if (words.length === 0) return;
    this.#toast.show(words, undo.length > 0 ? () => void this.#changeAll(undo) : undefined);
  }

  /** A question about each of several animals would be too many. */
  async #changeOrLeave(change: Change): Promise<Changed> {
    try {
      return await this.#send(change);
    } catch (error) {
      return { now: await this.#currentOf(change.seen, error) };
    }
  }

  async #changeOrAsk({ seen, to }: Change): Promise<Changed> {
    try {
      return await this.#send({ seen, to });
    } catch (error) {
      const now = await this.#currentOf(seen, error);
      if (now === undefined) throw error;
      const answer = await ask({
        title: [petName(now.name), ' was changed meanwhile'],
        words: 'Somebody else has changed it since you saw it. Nothing of yours is stored yet.',
        versions: [
          ['In the store now', now],
          ['With your change', { ...now, ...to }],
        ],
        yes: 'Save my change',
        no: 'Keep what is there',
      });
      return answer === 'yes' ? this.#changeOrAsk({ seen: now, to }) : { now, answer };
    }
  }

  async #send({ seen, to }: Change): Promise<Changed> {
    this.#lastId = seen.id;
    const now = await this.#session.change(seen, { ...seen, ...to });
    this.#on.shown(now);
    const fields = Object.keys(to) as (keyof Edit)[];
    const before: Edit = Object.fromEntries(fields.map((field) => [field, seen[field]]));
    return { now, undo: { seen: now, to: before } };
  }

  /**
   * Removes an animal after a question that shows it. If somebody else has changed it, the person is asked again. Returns
   * it as it is then if the person keeps it.
   */
  async remove(seen: Pet, saw?: Pet): Promise<Pet | undefined> {
    if ((await ask(removalQuestion(seen, saw))) !== 'yes') return seen;
    try {
      await this.#session.remove(seen);
      this.#on.gone(seen.id);
    } catch (error) {
      const now = await this.#currentOf(seen, error);
      if (now !== undefined) return this.remove(now, seen);
    }
    this.#toast.show([element('p', {}, petName(seen.name), ' is removed.')]);
    return undefined;
  }

  /** Shows the animal as it is now, after a conflict; undefined if it is gone. Throws any other error. */
  async #currentOf({ id }: Pet, error: unknown): Promise<Pet | undefined> {
    const { isGone, isConflict } = explain(error);
    if (!isGone && !isConflict) throw error;
    if (isGone) {
      this.#on.gone(id);
      return undefined;
    }
    // Once the service has removed this operation, the person loads the list again.
    const now = await this.#session.pets.get(id).catch(() => {
      throw error;
    });
    this.#on.shown(now);
    return now;
  }
}

function removalQuestion(now: Pet, saw: Pet | undefined): Question {
  const buttons = { yes: 'Remove it', no: 'Keep it', isDangerous: true };
  if (saw === undefined) {
    return {
      ...buttons,
      title: ['Remove ', petName(now.name), '?'],
      words: 'It cannot be brought back, and its id is not given again.',
      versions: [['In the store', now]],
    };
  }
  return {
    ...buttons,
    title: [petName(now.name), ' was changed meanwhile'],
    words: 'Somebody else has changed it since you saw it. It is not removed yet.',
    versions: [
      ['You saw', saw],
      ['In the store now', now],
    ],
  };
}

/** What was changed, from what undoes it. */
function doneWords(undo: readonly Change[]): HTMLElement {
  const [first] = undo;
  const statuses = new Set(undo.map(({ seen }) => seen.status));
  const isMarked = undo.every(
    ({ seen, to }) => to.status !== undefined && to.status !== seen.status,
  );
  const status = isMarked && statuses.size === 1 ? [...statuses].join() : undefined;
  if (undo.length === 1 && first !== undefined) {
    const words = status === undefined ? ' is saved.' : ` is now ${status}.`;
    return element('p', {}, petName(first.seen.name), words);
  }
  const words = status === undefined ? 'are saved' : `are now ${status}`;
  return element('p', {}, `${counted(undo.length)} ${words}.`);
}

/** Says of each animal why it was not changed. */
function refusedNotice(refused: readonly [seen: Pet, now: Pet | undefined][], count: number) {
  const items = refused.map(([{ id, name }, now]) =>
    element(
      'li',
      {},
      petName(name),
      ` (id ${id}): somebody else has `,
      ...(now === undefined
        ? ['removed it']
        : ['changed it to ', petName(now.name), `, category ${now.categoryId}, ${now.status}`]),
    ),
  );
  return element(
    'div',
    { class: 'notice fault', role: 'alert' },
    element('p', { class: 'title' }, `${refused.length} of ${counted(count)} were not changed`),
    element('ul', { class: 'faults' }, ...items),
  );
}

import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { ask } from './ask.ts';
import { button, byId, element } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { grouped } from './fields.ts';
import { faultNotice, removeSuccess, serviceWords } from './notice.ts';
import { petName } from './pet.ts';
import type { Session } from './session.ts';
import { Undo } from './undo.ts';

/** What a person changes of an animal. */
export type Edit = Partial<Pick<Pet, 'name' | 'categoryId' | 'status'>>;

export interface ChangeEvents {
  keyNeeded: (fault?: Fault) => void;
  /** The animal is like this now. */
  shown: (pet: Pet) => void;
  gone: (id: bigint) => void;
}

/** What was not changed, and why. */
interface Failure {
  pet: Pet;
  words: (Node | string)[];
}

/** Changes and removes animals as the person saw them, and undoes what was changed. */
export class Changes {
  readonly #session: Session;
  readonly #on: ChangeEvents;
  readonly #undo = new Undo();
  readonly #message = byId('list-message', HTMLElement);

  constructor(session: Session, on: ChangeEvents) {
    this.#session = session;
    this.#on = on;
  }

  /**
   * Changes an animal. If somebody else has changed it, the person sees both versions and chooses. Returns it as it
   * is then. Throws if it is gone or the request fails.
   */
  async change(seen: Pet, to: Edit): Promise<Pet> {
    const changed = await this.#changeOrAsk(seen, to);
    this.#on.shown(changed.now);
    if (changed.before !== undefined) this.#offerUndo([{ now: changed.now, to: changed.before }]);
    return changed.now;
  }

  async #changeOrAsk(from: Pet, to: Edit): Promise<{ now: Pet; before: Pet | undefined }> {
    try {
      const now = await this.#session.change(from, { ...from, ...to });
      return { now, before: from };
    } catch (error) {
      const now = await this.#currentAfter(error, from);
      const isWanted = await ask({
        title: [petName(now.name), ' was changed meanwhile'],
        words: 'Somebody else has changed it since you saw it. Nothing of yours is stored yet.',
        versions: [
          ['In the store now', now],
          ['With your change', { ...now, ...to }],
        ],
        yes: 'Save my change',
        no: 'Keep what is there',
      });
      return isWanted ? this.#changeOrAsk(now, to) : { now, before: undefined };
    }
  }

  /** Removes an animal after a question that shows it. Returns whether it is removed. */
  async remove(seen: Pet, isChanged = false, before = seen): Promise<boolean> {
    const isWanted = await ask({
      title: isChanged
        ? [petName(seen.name), ' was changed meanwhile']
        : ['Remove ', petName(seen.name), '?'],
      words: isChanged
        ? 'Somebody else has changed it since you saw it. It is not removed yet.'
        : 'It cannot be brought back, and its id is not given again.',
      versions: isChanged
        ? [
            ['You saw', before],
            ['In the store now', seen],
          ]
        : [['In the store', seen]],
      yes: 'Remove it',
      no: 'Keep it',
    });
    if (!isWanted) return false;
    try {
      await this.#session.remove(seen);
    } catch (error) {
      if (!explain(error).isGone) {
        return this.remove(await this.#currentAfter(error, seen), true, seen);
      }
    }
    this.#undo.end();
    this.#on.gone(seen.id);
    return true;
  }

  /** The animal as it is now, after a conflict. Throws any other error. */
  async #currentAfter(error: unknown, { id }: Pet): Promise<Pet> {
    const fault = explain(error);
    if (fault.isGone) this.#on.gone(id);
    if (!fault.isConflict) throw error;
    // Once the service has removed this operation, the person loads the list again.
    return this.#session.pets.get(id).catch(() => {
      throw error;
    });
  }

  /** Gives the animals one status. Returns those that were not changed: the page says why, for each. */
  async mark(
    pets: readonly Pet[],
    status: PetStatus,
    onCount: (done: number) => void,
  ): Promise<Pet[]> {
    const wanted = pets.map((pet) => ({ now: pet, to: { status } }));
    const { changed, failures } = await this.#changeAll(wanted, onCount);
    const changes = changed.map(({ now, before }) => ({ now, to: { status: before.status } }));
    if (changes.length > 0) this.#offerUndo(changes);
    this.#showFailures(failures, pets.length);
    return failures.map(({ pet }) => pet);
  }

  async #changeAll(
    wanted: readonly { now: Pet; to: Edit }[],
    onCount: (done: number) => void = () => undefined,
  ): Promise<{ changed: { now: Pet; before: Pet }[]; failures: Failure[] }> {
    const changed: { now: Pet; before: Pet }[] = [];
    const failures: Failure[] = [];
    /** After a failure that is not about one animal, the others are not tried. */
    let ending: Fault | undefined;
    for (const { now: pet, to } of wanted) {
      onCount(changed.length + failures.length);
      if (ending !== undefined) {
        failures.push({ pet, words: ['not tried'] });
        continue;
      }
      try {
        const now = await this.#session.change(pet, { ...pet, ...to });
        changed.push({ now, before: pet });
        this.#on.shown(now);
      } catch (error) {
        const fault = explain(error);
        failures.push({ pet, words: failureWords(fault) });
        if (fault.isGone) this.#on.gone(pet.id);
        else if (!fault.isConflict) ending = fault;
      }
    }
    if (ending?.isKeyRefused === true) this.#on.keyNeeded(ending);
    return { changed, failures };
  }

  #offerUndo(changes: readonly { now: Pet; to: Edit }[]): void {
    const [first] = changes;
    if (first === undefined) return;
    const words =
      changes.length === 1
        ? [
            petName(first.now.name),
            first.to.status === first.now.status ? ' is saved.' : ` is now ${first.now.status}.`,
          ]
        : [`${grouped(changes.length)} animals are now ${first.now.status}.`];
    this.#undo.offer(words, () => {
      void this.#changeAll(changes).then(({ failures }) =>
        this.#showFailures(failures, changes.length),
      );
    });
  }

  #showFailures(failures: readonly Failure[], count: number): void {
    this.#message.querySelector('.failures')?.remove();
    if (failures.length === 0) return;
    removeSuccess();
    const notice = element(
      'div',
      { class: 'notice fault failures', role: 'alert' },
      element(
        'p',
        { class: 'title' },
        count === 1
          ? 'The animal was not changed'
          : `${grouped(failures.length)} of ${grouped(count)} animals were not changed`,
      ),
      element(
        'ul',
        { class: 'faults' },
        ...failures.map(({ pet, words }) =>
          element('li', {}, element('b', {}, petName(pet.name)), `Id ${pet.id}: `, ...words),
        ),
      ),
      button('Close', () => {
        notice.remove();
        byId('title', HTMLElement).focus();
      }),
    );
    this.#message.prepend(notice);
  }

  /** Shows above the list why one change of it failed. */
  showFault(error: unknown, { name }: Pet, retry: () => void): void {
    const fault = explain(error);
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const words = fault.isGone
      ? { ...fault, title: `${name} is gone`, remedy: 'Somebody has removed it.' }
      : fault;
    const notice = faultNotice(words, {
      canCountDown: false,
      retry: () => {
        notice.remove();
        retry();
      },
    });
    notice.classList.add('failures');
    this.#message.querySelector('.failures')?.remove();
    this.#message.prepend(notice);
  }
}

function failureWords(fault: Fault): (Node | string)[] {
  if (fault.isGone) return ['somebody has removed it'];
  if (fault.isConflict) return ['somebody else has changed it meanwhile; load the list again'];
  return [fault.title, ' ', serviceWords(fault)];
}

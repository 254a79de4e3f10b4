import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import type { Progress } from './changes.ts';
import { button, byId, element } from './dom.ts';
import { grouped } from './fields.ts';
import { LABELS, rowId } from './pet.ts';

/** Marks the animals of these rows. Returns those that were not changed: they stay selected. */
type Mark = (rowIds: readonly string[], status: PetStatus, progress: Progress) => Promise<Pet[]>;

/** The rows that are selected, and the bar that gives their animals one status. */
export class Selection {
  readonly #rows = byId('rows', HTMLTableSectionElement);
  readonly #all = byId('select-all', HTMLInputElement);
  readonly #bar = byId('selection', HTMLElement);
  readonly #count = element('p', { role: 'status' });
  readonly #end = button('Clear', () => this.#stopOrClear(), 'quiet');
  readonly #mark: Mark;
  #last: HTMLInputElement | undefined;
  #running: AbortController | undefined;

  constructor(mark: Mark) {
    this.#mark = mark;
    const buttons = PET_STATUSES.map((status) =>
      button(LABELS[status], () => void this.#press(status)),
    );
    const choice = element('div', {}, element('span', {}, 'Mark as'), ...buttons);
    this.#bar.append(this.#count, choice, this.#end);
    this.#all.addEventListener('change', () => {
      for (const box of this.#boxes) box.checked = this.#all.checked;
      this.show();
    });
    this.#rows.addEventListener('click', (event) => {
      const box = event.target;
      if (!(box instanceof HTMLInputElement)) return;
      const range = event.shiftKey ? this.#between(this.#last, box) : [];
      for (const each of range) each.checked = box.checked;
      this.#last = box;
      this.show();
    });
  }

  /** The ids of the selected rows. */
  get ids(): string[] {
    return this.#boxes.filter(({ checked }) => checked).map(({ value }) => value);
  }

  /** What is not marked yet stays as it is. */
  stop(): void {
    this.#running?.abort();
  }

  show(): void {
    const [count, { length }] = [this.ids.length, this.#boxes];
    this.#bar.hidden = count === 0 && this.#running === undefined;
    this.#all.checked = length > 0 && count === length;
    this.#all.indeterminate = count > 0 && count < length;
    if (this.#running === undefined) this.#count.textContent = `${grouped(count)} selected`;
  }

  #stopOrClear(): void {
    if (this.#running !== undefined) return this.stop();
    for (const box of this.#boxes) box.checked = false;
    this.#showAndFocus();
  }

  async #press(status: PetStatus): Promise<void> {
    const { signal } = (this.#running = new AbortController());
    this.#bar.ariaBusy = 'true';
    this.#end.textContent = 'Stop';
    this.#end.focus();
    const { ids } = this;
    const left = await this.#mark(ids, status, {
      signal,
      onCount: (done) => {
        this.#count.textContent = `${grouped(done)} of ${grouped(ids.length)} marked …`;
      },
    });
    this.#running = undefined;
    this.#bar.ariaBusy = null;
    this.#end.textContent = 'Clear';
    const kept = new Set(left.map(({ id }) => rowId(id)));
    for (const box of this.#boxes) if (ids.includes(box.value)) box.checked = kept.has(box.value);
    this.#showAndFocus();
  }

  /** The focus does not go away with the bar, and the page stays where it is. */
  #showAndFocus(): void {
    const hadFocus = this.#bar.contains(document.activeElement);
    this.show();
    if (!hadFocus || !this.#bar.hidden) return;
    const last = this.#boxes.find(({ value }) => value === this.#last?.value);
    (last ?? this.#all).focus({ preventScroll: true });
  }

  get #boxes(): HTMLInputElement[] {
    return [...this.#rows.querySelectorAll<HTMLInputElement>('.selector')];
  }

  /** The boxes from one to the other, as they stand in the list. */
  #between(from: HTMLInputElement | undefined, to: HTMLInputElement): HTMLInputElement[] {
    const boxes = this.#boxes;
    const ends = [boxes.findIndex(({ value }) => value === from?.value), boxes.indexOf(to)];
    return ends.includes(-1) ? [] : boxes.slice(Math.min(...ends), Math.max(...ends) + 1);
  }
}

import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import { button, byId, element, isUsable, setUsable } from './dom.ts';
import { grouped } from './fields.ts';
import { LABELS } from './pet.ts';

/** The animals of the list that are selected, and the bar that gives them one status. */
export class Selection {
  readonly #rows = byId('rows', HTMLTableSectionElement);
  readonly #all = byId('select-all', HTMLInputElement);
  readonly #bar = byId('selection', HTMLElement);
  readonly #count = element('p', { role: 'status' });
  readonly #mark: (ids: ReadonlySet<string>, status: PetStatus, bar: Selection) => Promise<Pet[]>;
  readonly #ids = new Set<string>();
  #last: HTMLInputElement | undefined;

  /** `mark` returns the animals that it could not change: these stay selected. */
  constructor(
    mark: (ids: ReadonlySet<string>, status: PetStatus, bar: Selection) => Promise<Pet[]>,
  ) {
    this.#mark = mark;
    this.#bar.append(
      this.#count,
      element('span', {}, 'Mark as'),
      ...PET_STATUSES.map((status) => button(LABELS[status], () => void this.#press(status))),
      button('Clear', () => this.clear(), 'quiet'),
    );
    this.#all.addEventListener('change', () => {
      for (const box of this.#boxes) this.#set(box, this.#all.checked);
      this.#show();
    });
    this.#rows.addEventListener('click', (event) => {
      const box = event.target;
      if (!(box instanceof HTMLInputElement)) return;
      const range = event.shiftKey ? this.#between(this.#last, box) : [box];
      for (const each of range) this.#set(each, box.checked);
      this.#last = box;
      this.#show();
    });
  }

  has(id: bigint): boolean {
    return this.#ids.has(String(id));
  }

  /** After the rows were replaced: what is not shown any more is not selected. */
  follow(): void {
    const shown = new Set(this.#boxes.map(({ value }) => value));
    for (const id of this.#ids) if (!shown.has(id)) this.#ids.delete(id);
    this.#show();
  }

  clear(): void {
    const hadFocus = this.#bar.contains(document.activeElement);
    for (const box of this.#boxes) this.#set(box, false);
    this.#ids.clear();
    this.#show();
    if (hadFocus) this.#all.focus();
  }

  say(words: string): void {
    this.#count.textContent = words;
  }

  async #press(status: PetStatus): Promise<void> {
    const buttons = [...this.#bar.querySelectorAll('button')];
    if (!buttons.every(isUsable)) return;
    for (const each of buttons) setUsable(each, false);
    const left = await this.#mark(this.#ids, status, this);
    for (const each of buttons) setUsable(each, true);
    const hadFocus = this.#bar.contains(document.activeElement);
    const ids = new Set(left.map(({ id }) => String(id)));
    for (const box of this.#boxes) this.#set(box, ids.has(box.value));
    this.#show();
    if (hadFocus && this.#bar.hidden) this.#all.focus();
  }

  get #boxes(): HTMLInputElement[] {
    return [...this.#rows.querySelectorAll<HTMLInputElement>('.selector')];
  }

  /** The boxes from one to the other, as they stand in the list. */
  #between(from: HTMLInputElement | undefined, to: HTMLInputElement): HTMLInputElement[] {
    const boxes = this.#boxes;
    const ends = [from === undefined ? -1 : boxes.indexOf(from), boxes.indexOf(to)];
    if (ends.includes(-1)) return [to];
    return boxes.slice(Math.min(...ends), Math.max(...ends) + 1);
  }

  #set(box: HTMLInputElement, isSelected: boolean): void {
    box.checked = isSelected;
    if (isSelected) this.#ids.add(box.value);
    else this.#ids.delete(box.value);
  }

  #show(): void {
    const { length } = this.#boxes;
    this.#bar.hidden = this.#ids.size === 0;
    this.#all.checked = length > 0 && this.#ids.size === length;
    this.#all.indeterminate = this.#ids.size > 0 && this.#ids.size < length;
    this.say(`${grouped(this.#ids.size)} selected`);
  }
}

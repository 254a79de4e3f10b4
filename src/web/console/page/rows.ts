import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import { writeNewPet } from '../../../../sdk/src/json.ts';
import type { Progress } from './changes.ts';
import { button, byId } from './dom.ts';
import { LABELS, petRow, rowId } from './pet.ts';
import { suggestCategories } from './pet-fields.ts';
import { Selection } from './selection.ts';
import type { Session } from './session.ts';

export interface RowsEvents {
  open: (pet: Pet) => void;
  /** Marks animals, and returns those that were not changed. */
  mark: (pets: readonly Pet[], status: PetStatus, progress?: Progress) => Promise<Pet[]>;
}

/** The animals of the list, each in a row with its controls. */
export class Rows {
  readonly #body = byId('rows', HTMLTableSectionElement);
  readonly #table = byId('table', HTMLTableElement);
  readonly #statuses = byId('statuses', HTMLElement);
  readonly #session: Session;
  readonly #on: RowsEvents;
  /** By the id of their rows. */
  readonly #shown = new Map<string, Pet>();
  readonly selection = new Selection((ids, status, progress) => this.#mark(ids, status, progress));
  /** One after the other, so that a second choice follows what the first has stored. */
  marking: Promise<unknown> = Promise.resolve();
  /** The animal that was just added. */
  newId: bigint | undefined;
  /** The row whose status is chosen. */
  #choosing = '';
  /** The row after the one that was dropped last. */
  #next = '';

  constructor(session: Session, on: RowsEvents) {
    this.#session = session;
    this.#on = on;
    this.#statuses.append(
      ...PET_STATUSES.map((status) =>
        button(LABELS[status], () => void this.#choose(status), `chip ${status}`),
      ),
    );
    this.#statuses.addEventListener('keydown', moveFocus);
    this.#statuses.addEventListener('toggle', () => {
      const current = this.#statuses.querySelector<HTMLElement>('[aria-pressed=true]');
      current?.focus({ preventScroll: true });
    });
    this.#body.addEventListener('click', ({ target }) => {
      const pressed = target instanceof Element ? target.closest('button') : null;
      const pet = this.#shown.get(pressed?.closest('tr')?.id ?? '');
      if (pressed === null || pet === undefined) return;
      if (pressed.matches('.open')) on.open(pet);
      else this.#offer(pet);
    });
  }

  get pets(): readonly Pet[] {
    return [...this.#shown.values()];
  }

  /**
   * Replaces the rows. With `isQuiet` the rows of what has not changed stay as they are, if they are the same: somebody
   * may be choosing a status in one.
   */
  show(pets: readonly Pet[], { isQuiet = false } = {}): void {
    const isSameList = pets.map(({ id }) => rowId(id)).join() === [...this.#shown.keys()].join();
    if (isQuiet && isSameList) return pets.forEach((pet) => this.update(pet));
    const { ids } = this.selection;
    this.#keepFocus(() => {
      this.#shown.clear();
      this.#body.replaceChildren(...pets.map((pet) => this.#newRow(pet, ids)));
    });
    this.#table.hidden = pets.length === 0;
    this.selection.show();
    suggestCategories(pets);
  }

  /** Adds rows below the others. */
  add(pets: readonly Pet[]): void {
    this.#body.append(...pets.map((pet) => this.#newRow(pet)));
    this.#table.hidden = false;
    this.selection.show();
  }

  /** Shows the animal as it is now, if it is in the list. It stays there, also if the filter would leave it out. */
  update(pet: Pet): void {
    const row = document.getElementById(rowId(pet.id));
    const shown = this.#shown.get(rowId(pet.id));
    if (row === null || shown === undefined || writeNewPet(shown) === writeNewPet(pet)) return;
    this.#keepFocus(() => row.replaceWith(this.#newRow(pet, this.selection.ids)));
  }

  /** Returns whether the animal was in the list. */
  drop(id: bigint): boolean {
    const row = document.getElementById(rowId(id));
    if (row === null) return false;
    this.#next = (row.nextElementSibling ?? row.previousElementSibling)?.id ?? '';
    row.remove();
    this.#shown.delete(row.id);
    this.selection.show();
    return true;
  }

  /** If nothing has the focus: a control of the row, or of the next one if that is gone, or the title. */
  focus(id: string, control = 'chip'): void {
    if (document.activeElement !== document.body) return;
    const row = document.getElementById(id) ?? document.getElementById(this.#next);
    const target = row?.querySelector<HTMLElement>(`.${control}`) ?? byId('title', HTMLElement);
    target.focus({ preventScroll: true });
  }

  #newRow(pet: Pet, selected: readonly string[] = []): HTMLTableRowElement {
    const id = rowId(pet.id);
    this.#shown.set(id, pet);
    return petRow(pet, {
      isNew: pet.id === this.newId,
      isSelected: selected.includes(id),
      mayChange: this.#session.access.mayChange,
    });
  }

  /** The focus stays on the same control of the same animal. */
  #keepFocus(replace: () => void): void {
    const focused = document.activeElement;
    const id = focused?.closest('#rows > tr')?.id;
    replace();
    if (id !== undefined) this.focus(id, focused?.classList[0]);
  }

  /** Offers the statuses for an animal. */
  #offer(pet: Pet): void {
    this.#choosing = rowId(pet.id);
    for (const [at, each] of [...this.#statuses.children].entries()) {
      each.ariaPressed = String(PET_STATUSES[at] === pet.status);
    }
  }

  async #choose(status: PetStatus): Promise<void> {
    const id = this.#choosing;
    this.#statuses.hidePopover();
    await this.marking;
    if (this.#shown.get(id)?.status !== status) await this.#mark([id], status);
  }

  #mark(ids: readonly string[], status: PetStatus, progress?: Progress): Promise<Pet[]> {
    const marked = this.marking.then(() => {
      const pets = ids.flatMap((id) => this.#shown.get(id) ?? []);
      return this.#on.mark(pets, status, progress);
    });
    this.marking = marked;
    return marked;
  }
}

/** Between the choices, as in a menu. */
function moveFocus(event: KeyboardEvent): void {
  if (!event.key.startsWith('Arrow')) return;
  event.preventDefault();
  const at = document.activeElement;
  const next = event.key === 'ArrowDown' ? at?.nextElementSibling : at?.previousElementSibling;
  if (next instanceof HTMLElement) next.focus();
}

import type { Pet } from '../../../../sdk/src/index.ts';
import { byId, element } from './dom.ts';
import { grouped } from './fields.ts';
import { openButton, statusChip } from './pet.ts';

const STORAGE_NAME = 'petstore.just-added';
const SHOWN_MAX = 5;

type StoredPet = Pick<Pet, 'name' | 'status'> & Record<'id' | 'categoryId', string>;

/** The animals that this tab has added, the newest first. They may be on another page of the list. */
export class JustAdded {
  readonly #open: (pet: Pet) => void;
  readonly #list = byId('just-added-list', HTMLElement);
  #pets: Pet[] = [];
  #count = 0;

  constructor(open: (pet: Pet) => void) {
    this.#open = open;
    this.#restore();
  }

  add(pet: Pet): void {
    this.#show(pet, this.#count + 1);
    this.#store();
  }

  #show(pet: Pet, count: number): void {
    this.#count = count;
    this.#pets = [pet, ...this.#pets].slice(0, SHOWN_MAX);
    this.#list.prepend(
      element(
        'li',
        {},
        openButton(pet, this.#open),
        element('span', { class: 'small' }, `Id ${pet.id}`),
        statusChip(pet.status),
      ),
    );
    if (this.#list.childElementCount > SHOWN_MAX) this.#list.lastElementChild?.remove();
    const rest = count - this.#pets.length;
    byId('just-added-rest', HTMLElement).textContent = rest > 0 ? `and ${grouped(rest)} more` : '';
    byId('just-added', HTMLElement).hidden = false;
  }

  /** A reload keeps the list. The digits of an int64 are stored as text. */
  #store(): void {
    const pets = this.#pets.map((pet) => ({
      ...pet,
      id: String(pet.id),
      categoryId: String(pet.categoryId),
    }));
    try {
      sessionStorage.setItem(STORAGE_NAME, JSON.stringify({ count: this.#count, pets }));
    } catch {
      // Without storage, the list is kept until the page is reloaded.
    }
  }

  #restore(): void {
    try {
      const text = sessionStorage.getItem(STORAGE_NAME);
      if (text === null) return;
      const { count, pets } = JSON.parse(text) as { count: number; pets: StoredPet[] };
      for (const pet of pets.toReversed()) {
        this.#show({ ...pet, id: BigInt(pet.id), categoryId: BigInt(pet.categoryId) }, count);
      }
    } catch {
      // The list begins empty.
    }
  }
}

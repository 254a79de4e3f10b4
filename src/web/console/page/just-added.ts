import type { Pet } from '../../../../sdk/src/index.ts';
import { byId, element } from './dom.ts';
import { openButton, statusChip } from './pet.ts';

const SHOWN_MAX = 5;

/** The animals that this tab has added, the newest first. They may be on another page of the list. */
export class JustAdded {
  readonly #open: (pet: Pet) => void;
  readonly #list = byId('just-added-list', HTMLElement);
  #count = 0;

  constructor(open: (pet: Pet) => void) {
    this.#open = open;
  }

  add(pet: Pet): void {
    this.#count += 1;
    this.#list.prepend(
      element(
        'li',
        {},
        openButton(pet, this.#open),
        element('span', { class: 'small' }, `Id ${pet.id}`),
        statusChip(pet.status),
      ),
    );
    if (this.#count > SHOWN_MAX) this.#list.lastElementChild?.remove();
    const rest = this.#count - SHOWN_MAX;
    byId('just-added-rest', HTMLElement).textContent = rest > 0 ? `and ${rest} more` : '';
    byId('just-added', HTMLElement).hidden = false;
  }
}

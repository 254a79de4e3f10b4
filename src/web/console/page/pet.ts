import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import { button, byId, element } from './dom.ts';
import { isBlank } from '../../../domain/typed-pet.ts';

export const LABELS: Record<PetStatus, string> = {
  available: 'Available',
  pending: 'Pending',
  sold: 'Sold',
};

export function statusChip(status: PetStatus): HTMLElement {
  return element('span', { class: `chip ${status}` }, LABELS[status]);
}

/** In a bdi element, so that a right-to-left name does not change the order of the text around it. */
export function petName(name: string): HTMLElement {
  if (isBlank(name)) return element('span', { class: 'blank' }, '(blank name)');
  return element('bdi', { class: 'name' }, name);
}

/** A name that opens the animal. */
export function openButton(pet: Pet, open: (pet: Pet) => void): HTMLButtonElement {
  const opener = button('', () => open(pet), 'open');
  opener.append(petName(pet.name));
  return opener;
}

/** What a row does. Without `change` its key may not change animals. */
export interface RowEvents {
  open: (pet: Pet) => void;
  change?: {
    mark: (pet: Pet, status: PetStatus) => void;
    isSelected: boolean;
  };
}

/** The roles are explicit because the layout for narrow screens removes the implicit ones. */
export function petRow(pet: Pet, isNew: boolean, { open, change }: RowEvents): HTMLTableRowElement {
  const row = element('tr', { role: 'row', id: rowId(pet.id), ...(isNew ? { class: 'new' } : {}) });
  if (change !== undefined) row.append(cell('select', selector(pet, change.isSelected)));
  row.append(
    cell('id', String(pet.id)),
    cell('of-name', openButton(pet, open)),
    cell('category', String(pet.categoryId)),
    cell(
      'of-status',
      change === undefined ? statusChip(pet.status) : statusControl(pet, change.mark),
    ),
  );
  return row;
}

export function rowId(id: bigint): string {
  return `pet-${id}`;
}

function selector({ id, name }: Pet, isSelected: boolean): HTMLInputElement {
  const box = element('input', {
    type: 'checkbox',
    class: 'selector',
    value: String(id),
    'aria-label': `Select ${spoken(name)}`,
  });
  box.checked = isSelected;
  return box;
}

/** The status as a control. An arrow key opens its list: in a closed one it would choose at once. */
function statusControl(pet: Pet, mark: (pet: Pet, status: PetStatus) => void): HTMLSelectElement {
  const control = element(
    'select',
    { class: `chip ${pet.status}`, 'aria-label': `Status of ${spoken(pet.name)}` },
    ...PET_STATUSES.map((status) => element('option', { value: status }, LABELS[status])),
  );
  control.value = pet.status;
  control.addEventListener('keydown', (event) => {
    if (!['ArrowDown', 'ArrowUp'].includes(event.key)) return;
    event.preventDefault();
    control.showPicker();
  });
  control.addEventListener('change', () => {
    const wanted = PET_STATUSES.find((status) => status === control.value);
    if (wanted !== undefined) mark(pet, wanted);
  });
  return control;
}

function spoken(name: string): string {
  return isBlank(name) ? 'the animal with a blank name' : name;
}

function cell(kind: string, content: Node | string): HTMLElement {
  return element('td', { role: 'cell', class: kind }, content);
}

const CATEGORIES_MAX = 50;
let seenCategories: bigint[] = [];

/** Suggests, in the form, the categories of the animals shown so far. The oldest are dropped first. */
export function suggestCategories(pets: readonly Pet[]): void {
  const categories = new Set([...pets.map(({ categoryId }) => categoryId), ...seenCategories]);
  seenCategories = [...categories].slice(0, CATEGORIES_MAX);
  byId('categories', HTMLDataListElement).replaceChildren(
    ...seenCategories
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((category) => element('option', { value: String(category) })),
  );
}

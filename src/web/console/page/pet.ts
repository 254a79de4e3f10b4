import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { button, byId, element } from './dom.ts';
import { isBlank } from './fields.ts';

const LABELS: Record<PetStatus, string> = {
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

/** The roles are explicit because the layout for narrow screens removes the implicit ones. */
export function petRow(
  pet: Pet,
  { isNew, open }: { isNew: boolean; open: (pet: Pet) => void },
): HTMLTableRowElement {
  return element(
    'tr',
    { role: 'row', id: `pet-${pet.id}`, ...(isNew ? { class: 'new' } : {}) },
    cell('id', String(pet.id)),
    cell('of-name', openButton(pet, open)),
    cell('category', String(pet.categoryId)),
    cell('of-status', statusChip(pet.status)),
  );
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

const INT64 = /^-?\d{1,19}$/;

/** Parses typed text as an int64. The result is a bigint, because JavaScript rounds large numbers. */
export function parseInt64(text: string): bigint | undefined {
  if (!INT64.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

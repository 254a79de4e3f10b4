import type { Pet, PetStatus } from '../../../sdk/src/index.ts';
import { element } from './dom.ts';

const LABELS: Record<PetStatus, string> = {
  available: 'Available',
  pending: 'Pending',
  sold: 'Sold',
};

export function statusChip(status: PetStatus): HTMLElement {
  return element('span', { class: `chip ${status}` }, LABELS[status]);
}

/** Isolated, so that a name written from right to left does not turn what stands beside it around. */
export function petName(name: string): HTMLElement {
  return element('bdi', { class: 'name' }, name);
}

/** The roles are spelled out because a narrow screen lays the cells out in another way than as a table. */
export function petRow(pet: Pet, isNew: boolean): HTMLTableRowElement {
  return element(
    'tr',
    { role: 'row', ...(isNew ? { class: 'new' } : {}) },
    cell('id', String(pet.id)),
    cell('of-name', petName(pet.name)),
    cell('category', String(pet.categoryId)),
    cell('of-status', statusChip(pet.status)),
  );
}

function cell(kind: string, content: Node | string): HTMLElement {
  return element('td', { role: 'cell', class: kind }, content);
}

const INT64 = /^-?\d{1,19}$/;

/** Reads what a person typed as an int64; JavaScript's own numbers would round the large ones. */
export function parseInt64(text: string): bigint | undefined {
  if (!INT64.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

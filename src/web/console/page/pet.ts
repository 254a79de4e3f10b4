import type { Pet, PetStatus } from '../../../../sdk/src/index.ts';
import { isBlank } from '../../../domain/typed-pet.ts';
import { element } from './dom.ts';

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

export interface RowOptions {
  isNew: boolean;
  isSelected: boolean;
  /** Whether the key may change the animal. */
  mayChange: boolean;
}

/** The roles are explicit because the layout for narrow screens removes the implicit ones. */
export function petRow(pet: Pet, { isNew, isSelected, mayChange }: RowOptions) {
  const row = element('tr', { role: 'row', id: rowId(pet.id), class: isNew ? 'new' : '' });
  const status = mayChange ? statusControl(pet) : statusChip(pet.status);
  if (mayChange) row.append(cell('select', selector(pet, isSelected)));
  row.append(
    cell('id', String(pet.id)),
    cell('of-name', element('button', { type: 'button', class: 'open' }, petName(pet.name))),
    cell('category', String(pet.categoryId)),
    cell('of-status', status),
  );
  return row;
}

export function rowId(id: bigint): string {
  return `pet-${id}`;
}

function selector({ id, name }: Pet, isSelected: boolean): HTMLElement {
  const box = element('input', {
    type: 'checkbox',
    class: 'selector',
    value: rowId(id),
    'aria-label': `Select ${spoken(name)}`,
  });
  box.checked = isSelected;
  return element('label', {}, box);
}

/** Opens the choice of a status: no key changes an animal before something is chosen there. */
function statusControl({ name, status }: Pet): HTMLElement {
  return element(
    'button',
    {
      type: 'button',
      class: `chip ${status}`,
      popovertarget: 'statuses',
      'aria-label': `Status of ${spoken(name)}: ${LABELS[status]}`,
    },
    LABELS[status],
  );
}

function spoken(name: string): string {
  return isBlank(name) ? 'the animal with a blank name' : name;
}

function cell(kind: string, content: Node | string): HTMLElement {
  return element('td', { role: 'cell', class: kind }, content);
}

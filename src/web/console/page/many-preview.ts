import { layoutWords } from '../../../pet-file/layout.ts';
import { unitOf } from '../../../pet-file/pet-reader.ts';
import { button, element } from './dom.ts';
import type { Preview } from './many-rows.ts';
import { petName, statusChip } from './pet.ts';

const ROWS_SHOWN_MAX = 5;
const FAULTS_SHOWN_MAX = 20;

/** What would be added, and which lines have faults. */
export function previewView(
  preview: Preview | Error,
  onStart: (preview: Preview) => void,
): HTMLElement {
  if (preview instanceof Error) {
    return element('div', { class: 'notice fault', role: 'alert' }, preview.message);
  }
  const { layout, rows, faults } = preview;
  const unit = unitOf(layout) === 'item' ? 'Item' : 'Line';
  const view = element('div', { class: 'preview' });
  view.append(element('p', {}, layoutWords(layout)));
  if (faults.length > 0) view.append(faultList(preview));
  if (rows.length === 0) return view;
  const rest = rows.length - ROWS_SHOWN_MAX;
  view.append(
    element(
      'table',
      {},
      element('caption', {}, 'What will be added'),
      element('thead', {}, element('tr', {}, ...[unit, 'Name', 'Category', 'Status'].map(head))),
      element(
        'tbody',
        {},
        ...rows
          .slice(0, ROWS_SHOWN_MAX)
          .map(({ line, pet }) =>
            element(
              'tr',
              {},
              element('td', { class: 'id' }, String(line)),
              element('td', {}, petName(pet.name)),
              element('td', { class: 'category' }, String(pet.categoryId)),
              element('td', { class: 'of-status' }, statusChip(pet.status ?? 'available')),
            ),
          ),
      ),
    ),
    element('p', { class: 'small' }, rest > 0 ? `and ${rest} more` : ''),
    element(
      'div',
      { class: 'actions' },
      button(`Add ${animals(rows.length)}`, () => onStart(preview), 'primary'),
    ),
  );
  return view;
}

function head(name: string): HTMLElement {
  const kind = { Line: 'id', Item: 'id', Category: 'category', Status: 'of-status' }[name] ?? '';
  return element('th', { scope: 'col', class: kind }, name);
}

function faultList({ layout, rows, faults }: Preview): HTMLElement {
  const rest = faults.length - FAULTS_SHOWN_MAX;
  const unit = unitOf(layout);
  const lines = faults.length === 1 ? `1 ${unit} has` : `${faults.length} ${unit}s have`;
  const leftOut =
    faults.length === 1
      ? 'It is left out unless you correct it above.'
      : 'They are left out unless you correct them above.';
  const what = rows.length === 0 ? 'Nothing can be added.' : leftOut;
  return element(
    'div',
    { class: 'notice fault', role: 'status' },
    element('p', { class: 'title' }, `${lines} a fault`),
    element('p', {}, what),
    element(
      'ul',
      { class: 'faults' },
      ...faults
        .slice(0, FAULTS_SHOWN_MAX)
        .map(({ line, reason }) =>
          element(
            'li',
            {},
            element('b', {}, `${unit === 'item' ? 'Item' : 'Line'} ${line}`),
            ` ${reason}`,
          ),
        ),
    ),
    element('p', {}, rest > 0 ? `and ${rest} more` : ''),
  );
}

function animals(count: number): string {
  return count === 1 ? '1 animal' : `${count} animals`;
}

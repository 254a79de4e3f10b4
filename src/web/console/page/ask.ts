import type { Pet } from '../../../../sdk/src/index.ts';
import { button, element } from './dom.ts';
import { petName, statusChip } from './pet.ts';

const TITLE_ID = 'question-title';

export interface Question {
  title: (Node | string)[];
  words: string;
  /** The animal, or two versions of it, each under its heading. */
  versions: [heading: string, pet: Pet][];
  yes: string;
  no: string;
}

/** Asks in a dialog that shows the animal. Closing it is a no. */
export function ask({ title, words, versions, yes, no }: Question): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const dialog = element('dialog', { class: 'animal question', 'aria-labelledby': TITLE_ID });
  const keep = button(no, () => dialog.close());
  dialog.append(
    element('h2', { id: TITLE_ID }, ...title),
    element('p', { class: 'small' }, words),
    versionsTable(versions),
    element(
      'div',
      { class: 'actions' },
      keep,
      button(yes, () => dialog.close('yes'), 'primary'),
    ),
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    resolve(dialog.returnValue === 'yes');
  });
  document.body.append(dialog);
  dialog.showModal();
  keep.focus();
  return promise;
}

const ROWS: [name: string, shown: (pet: Pet) => Node | string, text: (pet: Pet) => string][] = [
  ['Name', ({ name }) => petName(name), ({ name }) => name],
  ['Category', ({ categoryId }) => String(categoryId), ({ categoryId }) => String(categoryId)],
  ['Status', ({ status }) => statusChip(status), ({ status }) => status],
  ['Id', ({ id }) => String(id), ({ id }) => String(id)],
];

/** One column for each version. What differs is marked. */
function versionsTable(versions: Question['versions']): HTMLElement {
  const heads = versions.map(([heading]) => element('th', { scope: 'col' }, heading));
  const rows = ROWS.map(([name, shown, text]) => {
    const differs = new Set(versions.map(([, pet]) => text(pet))).size > 1;
    return element(
      'tr',
      differs ? { class: 'differs' } : {},
      element('th', { scope: 'row' }, name),
      ...versions.map(([, pet]) => element('td', {}, shown(pet))),
    );
  });
  return element(
    'table',
    { class: 'versions' },
    element('thead', {}, element('tr', {}, element('td', {}), ...heads)),
    element('tbody', {}, ...rows),
  );
}

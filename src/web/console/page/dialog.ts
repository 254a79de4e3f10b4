import type { Pet } from '../../../../sdk/src/index.ts';
import { button, element } from './dom.ts';
import { petName, statusChip } from './pet.ts';

/** Opens a dialog with a title. It covers the one below it, and is removed when it closes. */
export function openDialog(
  kind: 'animal' | 'question',
  title: (Node | string)[],
  ...content: Node[]
): HTMLDialogElement {
  const id = `${kind}-title`;
  const heading = element('h2', { id }, element('span', {}, ...title));
  const dialog = element('dialog', { class: kind, 'aria-labelledby': id }, heading, ...content);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** A yes, a no, or neither: the question was closed. */
export type Answer = 'yes' | 'no' | '';

export interface Question {
  title: (Node | string)[];
  words: string;
  /** The animal, or two versions of it, each under its heading. */
  versions: [heading: string, pet: Pet][];
  yes: string;
  no: string;
  /** A yes destroys something. */
  isDangerous?: boolean;
}

/** Asks in a dialog that shows the animal. */
export function ask(question: Question): Promise<Answer> {
  const { title, words, versions, yes, no, isDangerous = false } = question;
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const keep = button(no, () => dialog.close('no'));
  const confirm = button(yes, () => dialog.close('yes'), isDangerous ? 'danger' : 'primary');
  const dialog = openDialog(
    'question',
    title,
    element('p', { class: 'small' }, words),
    ...(versions.length > 0 ? [petTable(versions)] : []),
    element('div', { class: 'actions' }, keep, confirm),
  );
  dialog.addEventListener('close', () => resolve(dialog.returnValue as Answer));
  keep.focus();
  return promise;
}

const ROWS: [name: string, text: (pet: Pet) => string, shown?: (pet: Pet) => Node][] = [
  ['Name', ({ name }) => name, ({ name }) => petName(name)],
  ['Category', ({ categoryId }) => String(categoryId)],
  ['Status', ({ status }) => status, ({ status }) => statusChip(status)],
  ['Id', ({ id }) => String(id)],
];

/** One column for each version. What differs is marked. */
export function petTable(versions: Question['versions']): HTMLElement {
  const heads = versions.map(([heading]) => element('th', { scope: 'col' }, heading));
  const rows = ROWS.map(([name, text, shown = text]) => {
    const differs = new Set(versions.map(([, pet]) => text(pet))).size > 1;
    const cells = versions.map(([, pet]) => element('td', {}, shown(pet)));
    const kind = differs ? 'differs' : '';
    return element('tr', { class: kind }, element('th', { scope: 'row' }, name), ...cells);
  });
  return element(
    'table',
    { class: 'versions' },
    element('thead', {}, element('tr', {}, element('td', {}), ...heads)),
    element('tbody', {}, ...rows),
  );
}

import type { Pet } from '../../../../sdk/src/index.ts';
import { curlCommand, KEY_VARIABLE } from './curl.ts';
import { writeClipboard } from './copy.ts';
import { button, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';
import { petName, statusChip } from './pet.ts';
import { linkTo, showLinkedId } from './place.ts';
import { BASE_URL } from './session.ts';

const TITLE_ID = 'animal-title';

/** Shows one animal in a dialog: all its fields, its JSON, and the command that fetches it. */
export function openPet(pet: Pet): void {
  const dialog = element('dialog', { class: 'animal', 'aria-labelledby': TITLE_ID });
  const told = element('p', { class: 'small', role: 'status' });
  const copy = (label: string, text: string): HTMLElement =>
    button(label, () => void copyText(text, told));
  const command = curlCommand(`${BASE_URL}/pets/${pet.id}`);
  dialog.append(
    element(
      'div',
      { class: 'head' },
      element('h2', { id: TITLE_ID }, petName(pet.name)),
      button('Close', () => dialog.close()),
    ),
    element(
      'dl',
      { class: 'facts' },
      ...fact('Id', element('code', {}, String(pet.id))),
      ...fact('Name', petName(pet.name)),
      ...fact('Category', element('code', {}, String(pet.categoryId))),
      ...fact('Status', statusChip(pet.status)),
    ),
    element(
      'div',
      { class: 'actions' },
      copy('Copy link', linkTo(pet.id)),
      copy('Copy id', String(pet.id)),
      copy('Copy JSON', petText(pet)),
      copy('Copy as curl', command),
    ),
    told,
    changeNote(pet),
    block('JSON', petText(pet)),
    block('curl', command),
    element(
      'p',
      { class: 'small' },
      'Put your key into ',
      element('code', {}, KEY_VARIABLE),
      ' first. This request goes away on 5 December 2030.',
    ),
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    showLinkedId(undefined);
  });
  document.body.append(dialog);
  showLinkedId(pet.id);
  dialog.showModal();
}

/** The interface changes no animal, so the dialog says who can, and how. */
function changeNote({ id, status }: Pet): HTMLElement {
  const to = status === 'sold' ? 'available' : 'sold';
  const flag = ENVIRONMENT === 'staging' ? ' --env staging' : '';
  return element(
    'p',
    { class: 'small change' },
    `To mark it as ${to}, whoever runs the service runs `,
    element('code', {}, `petstore catalogue set-status ${id} --to ${to}${flag}`),
    ' on its machine. ',
    element('a', { href: 'docs/not-in-the-api' }, 'Other changes'),
  );
}

async function copyText(text: string, told: HTMLElement): Promise<void> {
  const isCopied = await writeClipboard(text);
  told.textContent = isCopied
    ? 'Copied.'
    : 'This page has no clipboard. Select the text and copy it.';
}

function fact(name: string, value: HTMLElement): HTMLElement[] {
  return [element('dt', {}, name), element('dd', {}, value)];
}

function block(name: string, text: string): HTMLElement {
  return element(
    'div',
    { class: 'block' },
    element('h3', {}, name),
    element('pre', { tabindex: '0', 'aria-label': name }, text),
  );
}

/** By hand: JSON.stringify cannot write a bigint. */
function petText({ id, name, categoryId, status }: Pet): string {
  const fields = [
    `"id": ${id}`,
    `"name": ${JSON.stringify(name)}`,
    `"categoryId": ${categoryId}`,
    `"status": "${status}"`,
  ];
  return `{\n  ${fields.join(',\n  ')}\n}`;
}

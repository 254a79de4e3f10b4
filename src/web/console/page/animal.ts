import type { Pet } from '../../../../sdk/src/index.ts';
import { curlCommand, jsonText, KEY_VARIABLE } from './curl.ts';
import { writeClipboard } from './copy.ts';
import { button, byId, element } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice } from './notice.ts';
import { parseInt64, petName, statusChip } from './pet.ts';
import { linkTo, showLinkedId } from './place.ts';
import { BASE_URL, type Session } from './session.ts';

const TITLE_ID = 'animal-title';

/** Shows one animal in a dialog. Its JSON and the command that fetches it are for developers. */
export function openPet(pet: Pet): void {
  const dialog = element('dialog', { class: 'animal', 'aria-labelledby': TITLE_ID });
  const told = element('p', { class: 'small', role: 'status' });
  const copy = (label: string, text: string): HTMLElement =>
    button(label, () => void copyText(text, told));
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
      ...fact('Status', statusChip(pet.status)),
      ...fact('Category', String(pet.categoryId)),
      ...fact('Id', String(pet.id)),
    ),
    element(
      'div',
      { class: 'actions' },
      copy('Copy link', linkTo(pet.id)),
      copy('Copy id', String(pet.id)),
    ),
    forDevelopers(pet, copy),
    told,
  );
  dialog.addEventListener('close', () => {
    dialog.remove();
    showLinkedId(undefined);
  });
  document.body.append(dialog);
  showLinkedId(pet.id);
  dialog.showModal();
}

function forDevelopers(pet: Pet, copy: (label: string, text: string) => HTMLElement): HTMLElement {
  const command = curlCommand(`${BASE_URL}/pets/${pet.id}`);
  return element(
    'details',
    {},
    element('summary', {}, 'For developers'),
    block('JSON', petText(pet)),
    block('curl', command),
    element(
      'p',
      { class: 'small' },
      'Put your key into ',
      element('code', {}, KEY_VARIABLE),
      ' first. This request goes away on 5 December 2030.',
    ),
    element(
      'div',
      { class: 'actions' },
      copy('Copy JSON', petText(pet)),
      copy('Copy as curl', command),
    ),
  );
}

/** Opens the animal whose id an address has. */
export async function openLinked(
  text: string,
  session: Session,
  keyNeeded: (fault?: Fault) => void,
): Promise<void> {
  const message = byId('page-message', HTMLElement);
  message.replaceChildren();
  const id = parseInt64(text);
  if (id === undefined) {
    const words = 'This link leads to no animal: an id is a whole number, such as 7.';
    message.append(element('p', { class: 'notice fault', role: 'alert' }, words));
    return;
  }
  try {
    openPet(await session.pets.get(id));
  } catch (error) {
    const fault = explain(error);
    if (fault.isKeyRefused) return keyNeeded(fault);
    const retry = (): void => void openLinked(text, session, keyNeeded);
    message.append(faultNotice(fault, { retry, canCountDown: false }));
  }
}

async function copyText(text: string, told: HTMLElement): Promise<void> {
  const isCopied = await writeClipboard(text);
  told.textContent = isCopied
    ? 'Copied.'
    : 'This page has no clipboard. Select the text and copy it.';
}

function fact(name: string, value: HTMLElement | string): HTMLElement[] {
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
    `"name": ${jsonText(name)}`,
    `"categoryId": ${categoryId}`,
    `"status": "${status}"`,
  ];
  return `{\n  ${fields.join(',\n  ')}\n}`;
}

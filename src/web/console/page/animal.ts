import { parseTypedInt64 } from '../../../domain/int64.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import type { Changes, Edit } from './changes.ts';
import { curlCommand, jsonText, KEY_VARIABLE } from './curl.ts';
import { writeClipboard } from './clipboard.ts';
import { button, byId, element, find } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { FIELD_WORDS, type Field } from './fields.ts';
import { faultNotice } from './notice.ts';
import { PetFields } from './pet-fields.ts';
import { LABELS, petName, statusChip } from './pet.ts';
import { linkTo, showLinkedId } from './place.ts';
import { BASE_URL, type Session } from './session.ts';

const TITLE_ID = 'animal-title';
/** Before the ids of the fields. */
const PREFIX = 'edit-';

export interface AnimalParts {
  session: Session;
  changes: Changes;
  keyNeeded: (fault?: Fault) => void;
}

/** Shows one animal in a dialog. A key that may change animals edits and removes it there. */
export function openPet(pet: Pet, parts: AnimalParts): void {
  const dialog = element('dialog', { class: 'animal', 'aria-labelledby': TITLE_ID });
  const told = element('p', { class: 'small', role: 'status' });
  const copy = (label: string, text: string): HTMLElement =>
    button(label, () => void copyText(text, told));
  const mayChange = parts.session.access.mayChange;
  dialog.append(
    element(
      'div',
      { class: 'head' },
      element('h2', { id: TITLE_ID }, petName(pet.name)),
      button('Close', () => dialog.close()),
    ),
    mayChange ? editForm(pet) : facts(pet),
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
  if (mayChange) new Editor(pet, dialog, parts).listen();
  dialog.showModal();
}

function facts(pet: Pet): HTMLElement {
  return element(
    'dl',
    { class: 'facts' },
    ...fact('Status', statusChip(pet.status)),
    ...fact('Category', String(pet.categoryId)),
    ...fact('Id', String(pet.id)),
  );
}

/** The same fields as in the form that adds an animal. */
function editForm(pet: Pet): HTMLElement {
  const field = (name: string, label: string, value: string): HTMLElement[] => [
    element('label', { for: PREFIX + name }, label),
    element('input', {
      id: PREFIX + name,
      name,
      value,
      autocomplete: 'off',
      'aria-describedby': `${PREFIX}${name}-fault`,
      ...(name === 'categoryId' ? { inputmode: 'numeric', list: 'categories' } : {}),
    }),
    element('div', { id: `${PREFIX}${name}-fault`, class: 'field-fault', role: 'alert' }),
  ];
  const radio = (status: PetStatus): HTMLElement =>
    element(
      'label',
      {},
      element('input', {
        type: 'radio',
        name: 'status',
        value: status,
        ...(status === pet.status ? { checked: '' } : {}),
      }),
      LABELS[status],
    );
  return element(
    'form',
    { class: 'edit', novalidate: '' },
    ...field('name', 'Name', pet.name),
    ...field('categoryId', 'Category', String(pet.categoryId)),
    element(
      'fieldset',
      { class: 'segments' },
      element('legend', {}, 'Status'),
      ...PET_STATUSES.map(radio),
    ),
    element('div', { id: `${PREFIX}status-fault`, class: 'field-fault', role: 'alert' }),
    element('p', { class: 'small' }, `Id ${pet.id}`),
    element('div', { class: 'outcome' }),
    element(
      'div',
      { class: 'actions' },
      element('button', { class: 'primary' }, 'Save'),
      button('Remove …', () => undefined, 'danger'),
    ),
  );
}

/** What the form of a dialog does. */
class Editor {
  readonly #pet: Pet;
  readonly #dialog: HTMLDialogElement;
  readonly #parts: AnimalParts;
  readonly #form: HTMLFormElement;
  readonly #fields: PetFields;
  readonly #outcome: HTMLElement;
  /** What the form showed first: an input holds no line break, but a name may. */
  readonly #first: PetFields['typed'];
  #isBusy = false;

  constructor(pet: Pet, dialog: HTMLDialogElement, parts: AnimalParts) {
    this.#pet = pet;
    this.#dialog = dialog;
    this.#parts = parts;
    this.#form = find(dialog, 'form', HTMLFormElement);
    this.#outcome = find(dialog, '.outcome', HTMLElement);
    this.#fields = new PetFields(this.#form, PREFIX);
    this.#first = this.#fields.typed;
  }

  listen(): void {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#run(() => this.#save());
    });
    find(this.#form, '.danger', HTMLButtonElement).addEventListener('click', () => {
      void this.#run(async () => {
        if (await this.#parts.changes.remove(this.#pet)) this.#dialog.close();
      });
    });
  }

  /** Only what the person has changed is sent: the rest stays, whatever it is. */
  async #save(): Promise<void> {
    const { typed } = this.#fields;
    const isSame = (field: Field): boolean => typed[field] === this.#first[field];
    const categoryId = parseTypedInt64(typed.categoryId);
    const faults = {
      name: isSame('name') ? undefined : FIELD_WORDS.name(typed.name),
      categoryId: FIELD_WORDS.categoryId(categoryId ?? typed.categoryId),
    };
    this.#fields.showFaults(faults);
    if (categoryId === undefined || faults.name !== undefined) return;
    const to: Edit = {
      ...(isSame('name') ? {} : { name: typed.name }),
      ...(isSame('categoryId') ? {} : { categoryId }),
      ...(isSame('status') || typed.status === undefined ? {} : { status: typed.status }),
    };
    if (Object.keys(to).length > 0) await this.#parts.changes.change(this.#pet, to);
    this.#dialog.close();
  }

  async #run(action: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#outcome.replaceChildren();
    try {
      await action();
    } catch (error) {
      this.#showFault(explain(error), action);
    }
    this.#isBusy = false;
  }

  #showFault(fault: Fault, action: () => Promise<void>): void {
    if (fault.isKeyRefused) {
      this.#dialog.close();
      return this.#parts.keyNeeded(fault);
    }
    const gone = { title: 'This animal is gone', remedy: 'Somebody has removed it.' };
    const notice = faultNotice(fault.isGone ? { ...fault, ...gone } : fault, {
      retry: () => void this.#run(action),
      canCountDown: false,
    });
    this.#outcome.replaceChildren(notice);
  }
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
export async function openLinked(text: string, parts: AnimalParts): Promise<void> {
  const message = byId('page-message', HTMLElement);
  message.replaceChildren();
  const id = parseTypedInt64(text);
  if (id === undefined) {
    const words = 'This link leads to no animal: an id is a whole number, such as 7.';
    message.append(element('p', { class: 'notice fault', role: 'alert' }, words));
    return;
  }
  try {
    openPet(await parts.session.pets.get(id), parts);
  } catch (error) {
    const fault = explain(error);
    if (fault.isKeyRefused) return parts.keyNeeded(fault);
    const retry = (): void => void openLinked(text, parts);
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

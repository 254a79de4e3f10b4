import { parseTypedInt64 } from '../../../domain/int64.ts';
import { printable } from '../../../domain/printable.ts';
import { FIELDS, type Field } from '../../../domain/typed-pet.ts';
import { stringify, type Pet } from '../../../../sdk/src/index.ts';
import type { Changes, Edit } from './changes.ts';
import { offerCurl, writeClipboard } from './clipboard.ts';
import { curlCommand } from './curl.ts';
import { ask, openDialog, petTable } from './dialog.ts';
import { button, byId, element, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice } from './notice.ts';
import { copyFields, PetFields } from './pet-fields.ts';
import { petName } from './pet.ts';
import { linkTo, showLinkedId } from './place.ts';
import { BASE_URL, type Session } from './session.ts';

export interface AnimalParts {
  session: Session;
  changes: Changes;
  keyNeeded: (fault?: Fault) => void;
  closed: (pet: Pet) => void;
}

/** Shows one animal in a dialog. A key that may change animals edits and removes it there. */
export function openPet(pet: Pet, parts: AnimalParts): void {
  const told = element('span', { role: 'status' });
  const link = button('Copy link', () => void copyLink(pet, told), 'quiet');
  let dialog: HTMLDialogElement;
  if (parts.session.access.mayChange) {
    const id = element('p', { class: 'small' }, `Id ${pet.id}`, link, told);
    dialog = new Editor(pet, parts, [id, forDevelopers(pet)]).dialog;
  } else {
    const close = button('Close', () => dialog.close());
    const facts = petTable([['In the store', pet]]);
    const actions = element('div', { class: 'actions' }, close, link, told);
    dialog = openDialog('animal', [petName(pet.name)], facts, actions, forDevelopers(pet));
  }
  showLinkedId(pet.id);
  dialog.addEventListener('close', () => {
    showLinkedId(undefined);
    parts.closed(pet);
  });
}

/** The dialog of a key that may change the animal: the fields of the form that adds one. */
class Editor {
  readonly dialog: HTMLDialogElement;
  readonly #parts: AnimalParts;
  readonly #fields: PetFields;
  readonly #outcome = element('div', {});
  readonly #submit = element('button', { class: 'primary' }, 'Save');
  /** The animal as the person saw it. */
  #pet: Pet;
  /** What the fields showed of it: an input holds no line break, but a name may. */
  #first: PetFields['typed'];
  #isBusy = false;

  constructor(pet: Pet, parts: AnimalParts, below: readonly Node[]) {
    this.#pet = pet;
    this.#parts = parts;
    const form = element('form', { novalidate: '' }, copyFields('edit-'), this.#outcome);
    const remove = button('Remove …', () => void this.#run(() => this.#remove()), 'danger');
    const close = button('Close', () => void this.#close());
    form.append(element('div', { class: 'actions' }, this.#submit, close, remove));
    this.dialog = openDialog('animal', [petName(pet.name)], form, ...below);
    this.#fields = new PetFields(form, 'edit-');
    this.#fields.fill(pet);
    this.#first = this.#fields.typed;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#run(() => this.#save());
    });
    // Chromium lets a page keep a dialog open only once, unless the key itself goes nowhere.
    this.dialog.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') event.preventDefault();
      if (event.key === 'Escape') void this.#close();
    });
    this.dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      void this.#close();
    });
  }

  get #changed(): Field[] {
    const { typed } = this.#fields;
    return FIELDS.filter((field) => typed[field] !== this.#first[field]);
  }

  /** Not while it is stored, and not with what is not stored, unless the person says so. */
  async #close(): Promise<void> {
    if (this.#isBusy) return;
    const question = {
      title: ['Discard what you changed?'],
      words: 'It is not stored yet.',
      versions: [],
      yes: 'Discard it',
      no: 'Go on',
      isDangerous: true,
    };
    if (this.#changed.length === 0 || (await ask(question)) === 'yes') this.dialog.close();
  }

  /** Only what the person has changed is sent: the rest stays, whatever it is. */
  async #save(): Promise<void> {
    const changed = this.#changed;
    const values = this.#fields.read(changed);
    if (values === undefined) return;
    const to: Edit = Object.fromEntries(changed.map((field) => [field, values[field]]));
    const { now, answer } =
      changed.length === 0 ? {} : await this.#parts.changes.change(this.#pet, to);
    if (answer === '' && now !== undefined) this.#follow(now);
    else this.dialog.close();
  }

  async #remove(): Promise<void> {
    const now = await this.#parts.changes.remove(this.#pet);
    if (now === undefined) this.dialog.close();
    else this.#follow(now);
  }

  /** Shows the animal as it is now. What the person has changed stays typed. */
  #follow(now: Pet): void {
    if (now === this.#pet) return;
    const { typed } = this.#fields;
    const own = Object.fromEntries(this.#changed.map((field) => [field, typed[field]]));
    this.#pet = now;
    this.#fields.fill(now);
    this.#first = this.#fields.typed;
    this.#fields.fill(own);
    const words = 'Somebody else has changed it. What you did not change is shown as it is now.';
    this.#outcome.replaceChildren(element('p', { class: 'notice', role: 'status' }, words));
  }

  async #run(action: () => Promise<void>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    setUsable(this.#submit, false);
    this.#submit.textContent = 'Saving …';
    this.#outcome.replaceChildren();
    try {
      await action();
    } catch (error) {
      this.#showFault(explain(error), action);
    }
    this.#isBusy = false;
    setUsable(this.#submit, true);
    this.#submit.textContent = 'Save';
  }

  #showFault(fault: Fault, action: () => Promise<void>): void {
    if (fault.isKeyRefused) {
      this.dialog.close();
      return this.#parts.keyNeeded(fault);
    }
    if (!fault.isGone) {
      const retry = (): void => void this.#run(action);
      return this.#outcome.replaceChildren(faultNotice(fault, retry));
    }
    // Nothing of what was typed can be stored any more.
    this.#first = this.#fields.typed;
    const notice = element('p', { class: 'notice fault', role: 'alert' }, GONE);
    const close = button('Close', () => this.dialog.close());
    const [heading = ''] = this.dialog.children;
    this.dialog.replaceChildren(heading, notice, element('div', { class: 'actions' }, close));
    close.focus();
  }
}

const GONE = 'This animal is gone: somebody has removed it.';

function forDevelopers(pet: Pet): HTMLElement {
  const json = stringify(pet, 2).split('\n').map(printable).join('\n');
  const curl = element('div', {});
  offerCurl(curl, () => curlCommand(`${BASE_URL}/pets/${pet.id}`));
  return element(
    'details',
    {},
    element('summary', {}, 'For developers'),
    element('pre', { tabindex: '0', 'aria-label': 'JSON' }, json),
    curl,
    element('p', {}, 'This request goes away on 5 December 2030.'),
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
    message.append(faultNotice(fault, () => void openLinked(text, parts)));
  }
}

async function copyLink({ id }: Pet, told: HTMLElement): Promise<void> {
  const link = linkTo(id);
  // A page that was loaded over plain HTTP from another machine has no clipboard.
  told.textContent = (await writeClipboard(link)) ? 'Copied.' : `Copy this: ${link}`;
}

import { newIdempotencyKey } from '../../../../sdk/src/client.ts';
import { parseTypedInt64 } from '../../../domain/int64.ts';
import type { Pet } from '../../../../sdk/src/index.ts';
import { offerCurl } from './clipboard.ts';
import { curlCommand, jsonText } from './curl.ts';
import { byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice } from './notice.ts';
import { PetFields } from './pet-fields.ts';
import { petName } from './pet.ts';
import { BASE_URL, type Session } from './session.ts';

const EXAMPLE = { name: 'Rex', categoryId: 7n };

export interface AddEvents {
  keyNeeded: (fault?: Fault) => void;
  added: (pet: Pet) => void;
}

/** The form that adds an animal. It keeps its values until the service has accepted them. */
export class AddForm {
  readonly #session: Session;
  readonly #on: AddEvents;
  readonly #form = byId('add', HTMLFormElement);
  readonly #fields = new PetFields(this.#form);
  readonly #submit = byId('add-submit', HTMLButtonElement);
  readonly #outcome = byId('add-outcome', HTMLElement);
  readonly #curl = offerCurl(byId('add-curl', HTMLElement), () => this.#command());
  /** Identifies this create. It changes when a value changes, but not when the form is sent again. */
  #idempotencyKey = newIdempotencyKey();

  constructor(session: Session, on: AddEvents) {
    this.#session = session;
    this.#on = on;
  }

  listen(): void {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#send();
    });
    // The second click of a double click must not send the form again.
    this.#submit.addEventListener('click', (event) => {
      if (event.detail > 1) event.preventDefault();
    });
    this.#form.addEventListener('input', () => {
      this.#idempotencyKey = newIdempotencyKey();
      this.#curl.clear();
    });
  }

  async #send(): Promise<void> {
    if (!isUsable(this.#submit)) return;
    this.#outcome.replaceChildren();
    const pet = this.#fields.read();
    if (pet === undefined) return;
    this.#setBusy(true);
    try {
      const added = await this.#session.pets.create(pet, { idempotencyKey: this.#idempotencyKey });
      const isTrimmed = this.#fields.name.value !== added.name;
      this.#clear();
      this.#outcome.replaceChildren(addedNotice(added, isTrimmed));
      this.#on.added(added);
    } catch (error) {
      const fault = explain(error);
      if (fault.isKeyRefused) this.#on.keyNeeded(fault);
      else this.#outcome.replaceChildren(faultNotice(fault, () => this.#retry()));
    } finally {
      this.#setBusy(false);
    }
  }

  #setBusy(isBusy: boolean): void {
    setUsable(this.#submit, !isBusy);
    this.#submit.textContent = isBusy ? 'Adding …' : 'Add animal';
  }

  /** The next animal often has the same category. Its status is chosen again: it is easily overlooked. */
  #clear(): void {
    const { value } = this.#fields.categoryId;
    this.#form.reset();
    this.#fields.categoryId.value = value;
    this.#idempotencyKey = newIdempotencyKey();
    this.#fields.name.focus();
  }

  /** The pressed button disappears with its notice, so the focus moves to the submit button. */
  #retry(): void {
    this.#submit.focus();
    void this.#send();
  }

  #command(): string {
    const typed = this.#fields.typed;
    const name = jsonText(typed.name || EXAMPLE.name);
    const categoryId = parseTypedInt64(typed.categoryId) ?? EXAMPLE.categoryId;
    const body = `{"name":${name},"categoryId":${categoryId},"status":"${typed.status}"}`;
    return curlCommand(`${BASE_URL}/pets`, body);
  }
}

function addedNotice({ id, name }: Pet, isTrimmed: boolean): HTMLElement {
  return element(
    'div',
    { class: 'notice done', role: 'status' },
    element('p', {}, element('b', {}, petName(name)), ` was added with the id ${id}.`),
    ...(isTrimmed ? [element('p', {}, 'The space around the name was removed.')] : []),
  );
}

import { PET_STATUSES, type NewPet, type Pet } from '../../../sdk/src/index.ts';
import { curlCommand } from './curl.ts';
import { offerCurl } from './copy.ts';
import { byId, element, isUsable, setUsable } from './dom.ts';
import { explain, FIELDS, splitByField, type Fault, type Field } from './fault.ts';
import { faultNotice } from './notice.ts';
import { parseInt64, petName } from './pet.ts';
import { BASE_URL, type Session } from './session.ts';

const EXAMPLE = { name: 'Rex', categoryId: 7n };
const INT64_RULE = 'must be an integer from -9223372036854775808 to 9223372036854775807.';
const KEY_BYTES = 16;

/** The form that adds an animal. It keeps its values until the service has accepted them. */
export class AddForm {
  readonly #session: Session;
  readonly #askForKey: (fault?: Fault) => void;
  readonly #onAdded: (pet: Pet) => void;
  readonly #form = byId('add', HTMLFormElement);
  readonly #name = byId('name', HTMLInputElement);
  readonly #categoryId = byId('categoryId', HTMLInputElement);
  readonly #submit = byId('add-submit', HTMLButtonElement);
  readonly #outcome = byId('add-outcome', HTMLElement);
  readonly #curl = offerCurl(byId('add-curl', HTMLElement), () => this.#command());
  /** Identifies this create. It changes when a value changes, but not when the form is sent again. */
  #idempotencyKey = newIdempotencyKey();

  constructor(
    session: Session,
    on: { keyNeeded: (fault?: Fault) => void; added: (pet: Pet) => void },
  ) {
    this.#session = session;
    this.#askForKey = on.keyNeeded;
    this.#onAdded = on.added;
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
    this.#form.addEventListener('input', (event) => {
      this.#idempotencyKey = newIdempotencyKey();
      this.#curl.clear();
      const field = FIELDS.find((each) => each === (event.target as HTMLInputElement).name);
      if (field !== undefined) showFieldFault(field, undefined);
    });
  }

  async #send(): Promise<void> {
    if (!isUsable(this.#submit)) return;
    const pet = this.#read();
    if (pet === undefined) return;
    this.#outcome.replaceChildren();
    this.#setBusy(true);
    try {
      const added = await this.#session.pets.create(pet, { idempotencyKey: this.#idempotencyKey });
      this.#clear();
      this.#outcome.replaceChildren(addedNotice(added));
      this.#onAdded(added);
    } catch (error) {
      this.#showFault(explain(error));
    } finally {
      this.#setBusy(false);
    }
  }

  /** Rejects only what cannot be sent. The service validates the rest. */
  #read(): NewPet | undefined {
    const text = this.#categoryId.value.trim();
    const categoryId = parseInt64(text);
    if (categoryId === undefined) {
      const missing = text === '' ? 'is missing: it ' : '';
      this.#showFieldFaults({
        ...(this.#name.value === ''
          ? { name: 'name must be a string of 1 to 255 characters.' }
          : {}),
        categoryId: `categoryId ${missing}${INT64_RULE}`,
      });
      return undefined;
    }
    return { name: this.#name.value, categoryId, status: this.#status };
  }

  get #status(): NewPet['status'] {
    const wanted = new FormData(this.#form).get('status');
    return PET_STATUSES.find((status) => status === wanted);
  }

  #setBusy(isBusy: boolean): void {
    setUsable(this.#submit, !isBusy);
    this.#submit.textContent = isBusy ? 'Adding …' : 'Add animal';
  }

  #clear(): void {
    this.#form.reset();
    this.#idempotencyKey = newIdempotencyKey();
    this.#showFieldFaults({});
    this.#name.focus();
  }

  /** The pressed button disappears with its notice, so the focus moves to the submit button. */
  #retry(): void {
    this.#submit.focus();
    void this.#send();
  }

  #showFault(fault: Fault): void {
    if (fault.isKeyRefused) {
      this.#askForKey(fault);
      return;
    }
    const parts = fault.mend === 'none' ? splitByField(fault.message) : {};
    this.#showFieldFaults(parts);
    if (FIELDS.some((field) => parts[field] !== undefined)) return;
    // A key that was used for a different animal cannot be used again, so the next attempt gets a new one.
    if (fault.mend === 'none') this.#idempotencyKey = newIdempotencyKey();
    this.#outcome.replaceChildren(
      faultNotice(fault, { retry: () => this.#retry(), changeKey: () => this.#askForKey() }),
    );
  }

  #showFieldFaults(faults: Partial<Record<Field, string>>): void {
    for (const field of FIELDS) showFieldFault(field, faults[field]);
    const first = FIELDS.find((field) => faults[field] !== undefined);
    if (first === 'name') this.#name.focus();
    if (first === 'categoryId') this.#categoryId.focus();
  }

  #command(): string {
    const name = this.#name.value || EXAMPLE.name;
    const categoryId = parseInt64(this.#categoryId.value.trim()) ?? EXAMPLE.categoryId;
    const status = JSON.stringify(this.#status);
    const body = `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":${status}}`;
    return curlCommand(`${BASE_URL}/pets`, body);
  }
}

function showFieldFault(field: Field, message: string | undefined): void {
  byId(`${field}-fault`, HTMLElement).textContent = message ?? '';
  const control = document.getElementById(field);
  if (!(control instanceof HTMLInputElement)) return;
  if (message === undefined) control.removeAttribute('aria-invalid');
  else control.setAttribute('aria-invalid', 'true');
}

function addedNotice({ id, name }: Pet): HTMLElement {
  return element(
    'div',
    { class: 'notice done', role: 'status' },
    element('p', {}, element('b', {}, petName(name)), ` was added with the id ${id}.`),
  );
}

/** Uses getRandomValues, because browsers do not offer randomUUID to pages loaded over plain HTTP. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

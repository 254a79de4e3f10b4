import { PET_STATUSES, type NewPet, type Pet } from '../../../../sdk/src/index.ts';
import { curlCommand, jsonText } from './curl.ts';
import { offerCurl } from './copy.ts';
import { byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { FIELD_WORDS, FIELDS, isBlank, splitByField, trimName, type Field } from './fields.ts';
import { faultNotice, serviceWords } from './notice.ts';
import { parseInt64, petName } from './pet.ts';
import { BASE_URL, newIdempotencyKey, type Session } from './session.ts';

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
  readonly #name = byId('name', HTMLInputElement);
  readonly #categoryId = byId('categoryId', HTMLInputElement);
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
    this.#form.addEventListener('input', (event) => {
      this.#idempotencyKey = newIdempotencyKey();
      this.#curl.clear();
      showFieldFault((event.target as HTMLInputElement).name as Field, undefined);
    });
  }

  async #send(isAutomatic = false): Promise<void> {
    if (!isUsable(this.#submit)) return;
    this.#outcome.replaceChildren();
    const pet = this.#read();
    if (pet === undefined) return;
    this.#setBusy(true);
    try {
      const added = await this.#session.pets.create(pet, { idempotencyKey: this.#idempotencyKey });
      const isTrimmed = this.#name.value !== added.name;
      this.#clear();
      this.#outcome.replaceChildren(addedNotice(added, isTrimmed));
      this.#on.added(added);
    } catch (error) {
      this.#showFault(explain(error), isAutomatic);
    } finally {
      this.#setBusy(false);
    }
  }

  /** Rejects what cannot be sent, and a name without a visible character. The service validates the rest. */
  #read(): NewPet | undefined {
    const { name, categoryId: text, status } = this.#typed;
    const categoryId = parseInt64(text);
    if (categoryId !== undefined && !isBlank(name)) return { name, categoryId, status };
    this.#showFieldFaults({
      name: FIELD_WORDS.name(name),
      categoryId: FIELD_WORDS.categoryId(categoryId ?? text),
    });
    return undefined;
  }

  get #typed() {
    const wanted = new FormData(this.#form).get('status');
    return {
      name: trimName(this.#name.value),
      categoryId: this.#categoryId.value.trim(),
      status: PET_STATUSES.find((status) => status === wanted),
    };
  }

  #setBusy(isBusy: boolean): void {
    setUsable(this.#submit, !isBusy);
    this.#submit.textContent = isBusy ? 'Adding …' : 'Add animal';
  }

  /** The next animal often has the same category. Its status is chosen again: it is easily overlooked. */
  #clear(): void {
    const { value } = this.#categoryId;
    this.#form.reset();
    this.#categoryId.value = value;
    this.#idempotencyKey = newIdempotencyKey();
    this.#name.focus();
  }

  /** The pressed button disappears with its notice, so the focus moves to the submit button. */
  #retry(isAutomatic: boolean): void {
    if (this.#outcome.contains(document.activeElement)) this.#submit.focus();
    void this.#send(isAutomatic);
  }

  #showFault(fault: Fault, wasAutomatic: boolean): void {
    if (fault.isKeyRefused) return this.#on.keyNeeded(fault);
    const parts = fault.action === 'none' ? splitByField(fault.message) : {};
    const refused = FIELDS.filter((field) => parts[field] !== undefined);
    this.#showFieldFaults(
      Object.fromEntries(refused.map((field) => [field, this.#wordsFor(field)])),
    );
    for (const field of refused) {
      const message = parts[field] ?? '';
      byId(`${field}-fault`, HTMLElement).append(serviceWords({ ...fault, message }));
    }
    if (refused.length > 0) return;
    const retry = (isAutomatic: boolean): void => this.#retry(isAutomatic);
    this.#outcome.replaceChildren(faultNotice(fault, { retry, canCountDown: !wasAutomatic }));
  }

  #wordsFor(field: Field): string {
    return FIELD_WORDS[field](this.#typed[field]) ?? 'The service did not accept this.';
  }

  #showFieldFaults(faults: Partial<Record<Field, string | undefined>>): void {
    for (const field of FIELDS) showFieldFault(field, faults[field]);
    const first = FIELDS.find((field) => faults[field] !== undefined);
    if (first === 'name') this.#name.focus();
    if (first === 'categoryId') this.#categoryId.focus();
  }

  #command(): string {
    const typed = this.#typed;
    const name = jsonText(typed.name || EXAMPLE.name);
    const categoryId = parseInt64(typed.categoryId) ?? EXAMPLE.categoryId;
    const body = `{"name":${name},"categoryId":${categoryId},"status":"${typed.status}"}`;
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

function addedNotice({ id, name }: Pet, isTrimmed: boolean): HTMLElement {
  return element(
    'div',
    { class: 'notice done', role: 'status' },
    element('p', {}, element('b', {}, petName(name)), ` was added with the id ${id}.`),
    ...(isTrimmed ? [element('p', {}, 'The space around the name was removed.')] : []),
  );
}

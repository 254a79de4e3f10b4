import type { Pet } from '../../../../sdk/src/index.ts';
import { curlCommand } from './curl.ts';
import { offerCurl } from './copy.ts';
import { byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice, removeSuccess } from './notice.ts';
import { openButton, parseInt64, statusChip } from './pet.ts';
import { BASE_URL, type Session } from './session.ts';

/** Fetches one animal by its id. The service supports this until 5 December 2030. */
export class Lookup {
  readonly #session: Session;
  readonly #askForKey: (fault?: Fault) => void;
  readonly #open: (pet: Pet) => void;
  readonly #form = byId('lookup', HTMLFormElement);
  readonly #id = byId('petId', HTMLInputElement);
  readonly #submit = byId('lookup-submit', HTMLButtonElement);
  readonly #outcome = byId('lookup-outcome', HTMLElement);
  readonly #fault = byId('petId-fault', HTMLElement);

  constructor(
    session: Session,
    on: { keyNeeded: (fault?: Fault) => void; open: (pet: Pet) => void },
  ) {
    this.#session = session;
    this.#askForKey = on.keyNeeded;
    this.#open = on.open;
  }

  listen(): void {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#send();
    });
    const curl = offerCurl(byId('lookup-curl', HTMLElement), () => {
      return curlCommand(`${BASE_URL}/pets/${parseInt64(this.#id.value.trim()) ?? 1}`);
    });
    this.#form.addEventListener('input', () => {
      this.#showFieldFault(undefined);
      curl.clear();
    });
  }

  async #send(isAutomatic = false): Promise<void> {
    if (!isUsable(this.#submit)) return;
    const id = parseInt64(this.#id.value.trim());
    this.#outcome.replaceChildren();
    this.#showFieldFault(id === undefined ? 'An id is a whole number, such as 1.' : undefined);
    if (id === undefined) {
      removeSuccess();
      this.#id.focus();
      return;
    }
    setUsable(this.#submit, false);
    try {
      this.#outcome.replaceChildren(petCard(await this.#session.pets.get(id), this.#open));
    } catch (error) {
      this.#showFault(explain(error), isAutomatic);
    } finally {
      setUsable(this.#submit, true);
    }
  }

  /** The pressed button disappears with its notice, so the focus moves to the submit button. */
  #retry(isAutomatic: boolean): void {
    if (this.#outcome.contains(document.activeElement)) this.#submit.focus();
    void this.#send(isAutomatic);
  }

  #showFault(fault: Fault, wasAutomatic: boolean): void {
    if (fault.isKeyRefused) return this.#askForKey(fault);
    const retry = (isAutomatic: boolean): void => this.#retry(isAutomatic);
    this.#outcome.replaceChildren(faultNotice(fault, { retry, canCountDown: !wasAutomatic }));
  }

  #showFieldFault(message: string | undefined): void {
    this.#fault.textContent = message ?? '';
    if (message === undefined) this.#id.removeAttribute('aria-invalid');
    else this.#id.setAttribute('aria-invalid', 'true');
  }
}

function petCard(pet: Pet, open: (pet: Pet) => void): HTMLElement {
  return element(
    'div',
    { class: 'found', role: 'status' },
    element('p', { class: 'title' }, openButton(pet, open)),
    element('p', { class: 'small' }, `Id ${pet.id} · Category ${pet.categoryId}`),
    statusChip(pet.status),
  );
}

import type { Pet } from '../../../sdk/src/index.ts';
import { curlCommand } from './curl.ts';
import { offerCurl } from './copy.ts';
import { byId, element, isUsable, setUsable } from './dom.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice } from './notice.ts';
import { parseInt64, petName, statusChip } from './pet.ts';
import { BASE_URL, type Session } from './session.ts';

/** Fetches one animal by its id. The service supports this until 5 December 2030. */
export class Lookup {
  readonly #session: Session;
  readonly #askForKey: (fault?: Fault) => void;
  readonly #form = byId('lookup', HTMLFormElement);
  readonly #id = byId('petId', HTMLInputElement);
  readonly #submit = byId('lookup-submit', HTMLButtonElement);
  readonly #outcome = byId('lookup-outcome', HTMLElement);
  readonly #fault = byId('petId-fault', HTMLElement);

  constructor(session: Session, askForKey: (fault?: Fault) => void) {
    this.#session = session;
    this.#askForKey = askForKey;
  }

  listen(): void {
    const curl = offerCurl(byId('lookup-curl', HTMLElement), () => {
      return curlCommand(`${BASE_URL}/pets/${parseInt64(this.#id.value.trim()) ?? 1}`);
    });
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#send();
    });
    this.#form.addEventListener('input', () => {
      this.#showFieldFault(undefined);
      curl.clear();
    });
  }

  async #send(): Promise<void> {
    if (!isUsable(this.#submit)) return;
    const id = parseInt64(this.#id.value.trim());
    this.#outcome.replaceChildren();
    this.#showFieldFault(
      id === undefined ? 'An id is an integer of at most 19 digits, such as 1.' : undefined,
    );
    if (id === undefined) {
      this.#id.focus();
      return;
    }
    setUsable(this.#submit, false);
    try {
      this.#outcome.replaceChildren(petCard(await this.#session.pets.get(id)));
    } catch (error) {
      this.#showFault(explain(error));
    } finally {
      setUsable(this.#submit, true);
    }
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
    this.#outcome.replaceChildren(
      faultNotice(fault, { retry: () => this.#retry(), changeKey: () => this.#askForKey() }),
    );
  }

  #showFieldFault(message: string | undefined): void {
    this.#fault.textContent = message ?? '';
    if (message === undefined) this.#id.removeAttribute('aria-invalid');
    else this.#id.setAttribute('aria-invalid', 'true');
  }
}

function petCard(pet: Pet): HTMLElement {
  return element(
    'div',
    { class: 'found', role: 'status' },
    element('p', { class: 'title' }, petName(pet.name)),
    element('p', { class: 'small' }, `Id ${pet.id} · category ${pet.categoryId}`),
    statusChip(pet.status),
  );
}

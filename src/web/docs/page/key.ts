import { isKeyForm, KEY_LENGTH, KEY_PREFIX } from '../../../domain/key-form.ts';
import { byId } from '../../console/page/dom.ts';
import { storedKey, storeKey } from '../../console/page/stored-key.ts';
import { copyOnClick } from './clipboard.ts';

/** Enough to recognise a key, and short enough for a phone. */
const SHOWN_CHARACTERS = 4;

/** The panel in which the reader pastes a key. The key is kept in this tab, and no sample shows it. */
export class KeyPanel {
  readonly #panel = byId('key-panel', HTMLElement);
  readonly #button = byId('key-button', HTMLButtonElement);
  readonly #copy = byId('key-copy', HTMLButtonElement);
  readonly #form = byId('key-form', HTMLFormElement);
  readonly #input = byId('key', HTMLInputElement);
  readonly #fault = byId('key-fault', HTMLElement);
  readonly #forget = byId('key-forget', HTMLButtonElement);
  /** Called once the reader has entered a key. */
  #onKey: ((key: string) => void) | undefined;

  open(): void {
    this.#button.hidden = false;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#use(this.#input.value.trim());
    });
    this.#forget.addEventListener('click', () => {
      storeKey(undefined);
      this.#close();
    });
    copyOnClick(
      this.#copy,
      () => storedKey() ?? '',
      () => 'Not copied',
    );
    this.#fill();
  }

  /** Calls back with the key of this tab. Without one, the panel asks for it first. */
  request(onKey: (key: string) => void): void {
    const key = storedKey();
    if (key !== undefined) {
      onKey(key);
      return;
    }
    this.#onKey = onKey;
    this.#panel.showPopover();
    this.#input.focus();
  }

  #use(key: string): void {
    if (!isKeyForm(key)) {
      const prefixes = Object.values(KEY_PREFIX).join(' or ');
      this.#fault.textContent = `This is not an API key: a key begins with ${prefixes} and has ${KEY_LENGTH} characters.`;
      this.#input.setAttribute('aria-invalid', 'true');
      this.#input.focus();
      return;
    }
    storeKey(key);
    this.#close();
    this.#onKey?.(key);
    this.#onKey = undefined;
  }

  #close(): void {
    this.#input.value = '';
    this.#input.removeAttribute('aria-invalid');
    this.#fault.textContent = '';
    this.#panel.hidePopover();
    this.#fill();
  }

  #fill(): void {
    const key = storedKey();
    this.#button.textContent =
      key === undefined ? 'Use a key' : `Key …${key.slice(-SHOWN_CHARACTERS)}`;
    this.#forget.hidden = key === undefined;
    // Over plain HTTP from another machine, browsers let no page copy.
    this.#copy.hidden = key === undefined || !isSecureContext;
  }
}

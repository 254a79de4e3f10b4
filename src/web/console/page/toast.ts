import { button, byId, element } from './dom.ts';

const SHOWN_MS = 10_000;
const KEYS = /Mac|iP/.test(navigator.platform) ? '⌘Z' : 'Ctrl+Z';

/** Says what was changed and what was not, in sight wherever the page was scrolled to. */
export class Toast {
  readonly #view = byId('toast', HTMLElement);
  readonly #words = element('div', { role: 'status' });
  readonly #press = button('Undo', () => this.#undoNow());
  readonly #keys = element('kbd', {}, KEYS);
  /** Called when the focus was on a button that goes away. */
  readonly #onLeave: () => void;
  #undo: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
    this.#press.setAttribute('aria-keyshortcuts', 'Control+Z Meta+Z');
    const close = button('Close', () => this.end());
    this.#view.append(this.#words, this.#press, this.#keys, close);
    // Whoever reads it or is about to press it has all the time that this takes.
    for (const type of ['pointerenter', 'focusin']) {
      this.#view.addEventListener(type, () => clearTimeout(this.#timer));
    }
    for (const type of ['pointerleave', 'focusout']) {
      this.#view.addEventListener(type, () => {
        if (!this.#view.matches(':hover, :focus-within')) this.#wait();
      });
    }
    addEventListener('keydown', (event) => {
      const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === 'z';
      if (!isUndo || this.#undo === undefined || isElsewhere(event.target)) return;
      event.preventDefault();
      this.#undoNow();
    });
  }

  /** Takes the place of what was said before. Something that was not changed is said until it is closed. */
  show(words: readonly (Node | string)[], undo?: () => void): void {
    this.#undo = undo;
    this.#press.hidden = this.#keys.hidden = undo === undefined;
    this.#view.hidden = false;
    this.#words.replaceChildren(...words);
    this.#wait();
  }

  end(): void {
    clearTimeout(this.#timer);
    const focused = this.#view.querySelector<HTMLElement>(':focus');
    focused?.blur();
    this.#undo = undefined;
    this.#view.hidden = true;
    this.#words.replaceChildren();
    if (focused !== null) this.#onLeave();
  }

  #undoNow(): void {
    const undo = this.#undo;
    this.end();
    undo?.();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#words.querySelector('.fault') !== null) return;
    this.#timer = setTimeout(() => this.end(), SHOWN_MS);
  }
}

/** In a text field Ctrl+Z undoes what was typed, and behind a dialog nothing is undone. */
function isElsewhere(target: EventTarget | null): boolean {
  return (
    document.querySelector('dialog[open]') !== null ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type))
  );
}

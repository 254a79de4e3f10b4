import { button, byId, element } from './dom.ts';

const SHOWN_MS = 10_000;

/** Says what was changed, and offers for some seconds to undo it: with a click or with Ctrl+Z. */
export class Undo {
  readonly #view = byId('undo', HTMLElement);
  readonly #words = element('p', { role: 'status' });
  #undo: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    const press = button('Undo', () => this.#press(), 'quiet');
    press.setAttribute('aria-keyshortcuts', 'Control+Z');
    press.title = 'Ctrl+Z';
    this.#view.append(this.#words, press);
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
      if (!isUndo || this.#undo === undefined || isTextField(event.target)) return;
      event.preventDefault();
      this.#press();
    });
  }

  /** Replaces an earlier offer. */
  offer(words: (Node | string)[], undo: () => void): void {
    this.#undo = undo;
    this.#view.hidden = false;
    this.#words.replaceChildren(...words);
    this.#wait();
  }

  end(): void {
    clearTimeout(this.#timer);
    if (this.#view.contains(document.activeElement)) byId('title', HTMLElement).focus();
    this.#undo = undefined;
    this.#view.hidden = true;
    this.#words.replaceChildren();
  }

  #press(): void {
    const undo = this.#undo;
    this.end();
    undo?.();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(), SHOWN_MS);
  }
}

/** In a text field Ctrl+Z undoes what was typed. */
function isTextField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !['checkbox', 'radio'].includes(target.type))
  );
}

import { element } from '../../console/page/dom.ts';

const COPIED_SHOWN_MS = 2_000;

/** Adds a button to each block of code that the reader is meant to copy. */
export function offerCopies(): void {
  for (const block of document.querySelectorAll('.code[data-copy]')) {
    const code = block.querySelector('pre');
    if (code === null) continue;
    const control = element('button', { type: 'button', class: 'quiet' }, 'Copy');
    const select = () => {
      getSelection()?.selectAllChildren(code);
      return 'Selected';
    };
    copyOnClick(control, () => code.textContent, select);
    block.append(control);
  }
}

/**
 * Copies a text on a click, and says so for a moment. Browsers offer no clipboard over plain HTTP from another
 * machine: then `otherwise` does what can be done, and returns what is said.
 */
export function copyOnClick(
  control: HTMLButtonElement,
  text: () => string,
  otherwise: () => string,
): void {
  const label = control.textContent;
  control.setAttribute('aria-live', 'polite');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      control.textContent = 'Copied';
    } catch {
      control.textContent = otherwise();
    }
    setTimeout(() => (control.textContent = label), COPIED_SHOWN_MS);
  };
  control.addEventListener('click', () => void copy());
}

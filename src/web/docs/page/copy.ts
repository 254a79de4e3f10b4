import { button } from '../../console/page/dom.ts';

const COPIED_SHOWN_MS = 2_000;

/** Adds a button to each block of code that the reader is meant to copy. */
export function offerCopies(): void {
  for (const block of document.querySelectorAll('.code[data-copy]')) {
    const code = block.querySelector('pre');
    if (code === null) continue;
    const copy = button('Copy', () => void show(), 'quiet');
    copy.setAttribute('aria-live', 'polite');
    const show = async (): Promise<void> => {
      copy.textContent = (await write(code)) ? 'Copied' : 'Selected';
      setTimeout(() => (copy.textContent = 'Copy'), COPIED_SHOWN_MS);
    };
    block.append(copy);
  }
}

/** Browsers offer no clipboard over plain HTTP from another machine. Then the text is selected instead. */
async function write(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}

import { KEY_VARIABLE } from './curl.ts';
import { element } from './dom.ts';

/**
 * Adds a button that copies the view as a curl command and shows the command. A page that was loaded over
 * plain HTTP from another machine has no clipboard; there the user copies the shown command by hand.
 */
export function offerCurl(place: HTMLElement, command: () => string): { clear: () => void } {
  const copy = element('button', { type: 'button', class: 'quiet' }, 'Copy as curl');
  const told = element('div', { role: 'status', class: 'copied' });
  place.append(copy, told);
  copy.addEventListener('click', () => void show(command(), told));
  return { clear: () => told.replaceChildren() };
}

async function show(command: string, told: HTMLElement): Promise<void> {
  const isCopied = await writeClipboard(command);
  told.replaceChildren(
    element(
      'p',
      {},
      isCopied ? 'Copied. Put your key into ' : 'Copy this, and put your key into ',
      element('code', {}, KEY_VARIABLE),
      ' first.',
    ),
    element('pre', { tabindex: '0', 'aria-label': 'The command' }, command),
  );
}

export async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

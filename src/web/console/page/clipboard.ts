import { KEY_VARIABLE } from './curl.ts';
import { button, element } from './dom.ts';

/**
 * Adds a button that copies the view as a curl command and shows the command. A page that was loaded over
 * plain HTTP from another machine has no clipboard; there the user copies the shown command by hand.
 */
export function offerCurl(place: HTMLElement, command: () => string): { clear: () => void } {
  const told = element('div', { role: 'status', class: 'copied' });
  const copy = button('Copy as curl', () => void show(command(), told), 'quiet');
  place.append(copy, told);
  return { clear: () => told.replaceChildren() };
}

async function show(command: string, told: HTMLElement): Promise<void> {
  const words = (await writeClipboard(command)) ? 'Copied. Put' : 'Copy this, and put';
  told.replaceChildren(
    element('p', {}, `${words} your key into `, element('code', {}, KEY_VARIABLE), ' first.'),
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

import { button, element } from './dom.ts';
import type { Fault } from './fault.ts';

/** Removes the message of an earlier success: beside an error it would contradict it. */
export function removeSuccess(): void {
  document.querySelector('.notice.done')?.remove();
}

/** Shows the error in words for people, its remedy, and what the service said. */
export function faultNotice(fault: Fault, retry: () => void): HTMLElement {
  removeSuccess();
  const words = element(
    'div',
    { role: 'alert' },
    element('p', { class: 'title' }, fault.title),
    element('p', {}, fault.remedy),
  );
  const again = fault.canRetry ? [button('Try again', retry)] : [];
  return element('div', { class: 'notice fault' }, words, ...again, serviceWords(fault));
}

/** The message of the service, one click away. */
export function serviceWords({ message, requestId }: Fault): HTMLElement {
  const id = requestId === undefined ? [] : ['Request id ', element('code', {}, requestId)];
  return element(
    'details',
    {},
    element('summary', {}, 'For developers'),
    element('p', {}, message),
    element('p', {}, ...id),
  );
}

import { button, element } from './dom.ts';
import type { Fault } from './fault.ts';

export interface Mending {
  retry: () => void;
  changeKey: () => void;
}

/** Shows the error, its remedy, and a button for the remedy. */
export function faultNotice(fault: Fault, mending: Mending): HTMLElement {
  const notice = element(
    'div',
    { class: 'notice fault', role: 'alert' },
    element('p', { class: 'title' }, fault.title),
    element('p', {}, `${fault.message} ${fault.remedy}`),
  );
  if (fault.requestId !== undefined && fault.mend !== 'none') {
    notice.append(
      element('p', { class: 'small' }, 'Request id ', element('code', {}, fault.requestId)),
    );
  }
  if (fault.mend === 'retry') notice.append(button('Try again', mending.retry));
  if (fault.mend === 'key') notice.append(button('Use another key', mending.changeKey));
  return notice;
}

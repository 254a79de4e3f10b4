import { button, element } from './dom.ts';
import type { Fault } from './fault.ts';

export interface RetryOptions {
  /** Sends the request again: after a click, or by itself after a countdown. */
  retry: (isAutomatic: boolean) => void;
  /** Whether the page may try again by itself. It does so once. */
  canCountDown: boolean;
}

/** Removes the message of an earlier success: beside an error it would contradict it. */
export function removeSuccess(): void {
  document.querySelector('.notice.done')?.remove();
}

/** Shows the error in words for people, its remedy, and what the service said. */
export function faultNotice(fault: Fault, { retry, canCountDown }: RetryOptions): HTMLElement {
  removeSuccess();
  const { title, remedy, waitMs } = fault;
  const notice = element(
    'div',
    { class: 'notice fault' },
    element(
      'div',
      { role: 'alert' },
      element('p', { class: 'title' }, title),
      element('p', {}, remedy),
    ),
  );
  if (canCountDown && waitMs !== undefined) {
    notice.append(countdown(waitMs, () => retry(true)));
  }
  if (fault.action === 'retry') notice.append(button('Try again', () => retry(false)));
  notice.append(serviceWords(fault));
  return notice;
}

/** The message of the service, one click away. */
export function serviceWords({ message, requestId }: Fault): HTMLElement {
  const details = element(
    'details',
    {},
    element('summary', {}, 'For developers'),
    element('p', {}, message),
  );
  if (requestId !== undefined) {
    details.append(element('p', {}, 'Request id ', element('code', {}, requestId)));
  }
  return details;
}

const SECOND_MS = 1_000;

/**
 * Shows the seconds until the next attempt, then calls back. It stops when it is removed from the page. A
 * screen reader does not read every second aloud.
 */
export function countdown(waitMs: number, onEnd: () => void): HTMLElement {
  const end = performance.now() + waitMs;
  const shown = element('p', { role: 'timer', 'aria-live': 'off' });
  const tick = (): void => {
    const seconds = Math.ceil((end - performance.now()) / SECOND_MS);
    shown.textContent = `Trying again in ${Math.max(1, seconds)} s.`;
    setTimeout(
      () => {
        if (!shown.isConnected) return;
        if (performance.now() >= end) onEnd();
        else tick();
      },
      Math.min(SECOND_MS, end - performance.now()),
    );
  };
  tick();
  return shown;
}

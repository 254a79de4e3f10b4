import { element, isUsable, setUsable } from '../../console/page/dom.ts';
import type { KeyPanel } from './key.ts';
import { SITE } from './site.ts';

const TIMEOUT_MS = 20_000;

/** Shows the forms that send a request with the key of this tab. */
export function offerTries(keyPanel: KeyPanel): void {
  for (const place of document.querySelectorAll<HTMLElement>('.try')) {
    const form = place.querySelector('form');
    const submit = place.querySelector('button');
    const outcome = place.querySelector('.tried');
    if (form === null || submit === null || outcome === null) continue;
    const show = async (key: string): Promise<void> => {
      setUsable(submit, false);
      outcome.replaceChildren(...(await send(form, key)));
      setUsable(submit, true);
    };
    place.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      keyPanel.request((key) => {
        if (isUsable(submit)) void show(key);
      });
    });
  }
}

async function send(form: HTMLFormElement, key: string): Promise<HTMLElement[]> {
  const { url, init } = requestOf(form, key);
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return outcomeOf(response, await response.text());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [element('p', { class: 'notice fault' }, `There was no response: ${reason}`)];
  }
}

function requestOf(form: HTMLFormElement, key: string): { url: string; init: RequestInit } {
  const method = form.dataset['method'] ?? 'GET';
  const query = new URLSearchParams();
  const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
  let path = form.dataset['path'] ?? '';
  for (const field of form.querySelectorAll<HTMLInputElement>('[data-in]')) {
    const { name, value } = field;
    if (value === '') continue;
    if (field.dataset['in'] === 'query') query.set(name, value);
    else if (field.dataset['in'] === 'header') headers[name] = value;
    else path = path.replace(`{${name}}`, encodeURIComponent(value));
  }
  const body = form.querySelector('textarea')?.value;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const url = `${SITE}v1${path}${query.size > 0 ? `?${query.toString()}` : ''}`;
  // The browser's cache would hide what the service really sends.
  return { url, init: { method, headers, body: body ?? null, cache: 'no-store' } };
}

/** The response as it was received: nothing is parsed, so no digit is lost. */
function outcomeOf(response: Response, body: string): HTMLElement[] {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  const kind = response.ok || response.status === 304 ? 'good' : 'bad';
  return [
    element('p', { class: `outcome ${kind}` }, `${response.status} ${response.statusText}`),
    ...(body === '' ? [] : [block('Response body', body)]),
    block('Response headers', headers.join('\n')),
  ];
}

function block(label: string, text: string): HTMLElement {
  const code = element('pre', { tabindex: '0', role: 'group', 'aria-label': label }, text);
  return element('div', { class: 'code' }, code);
}

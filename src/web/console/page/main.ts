// The key form, and what opens the workspace.

import { button, byId, isUsable, setUsable } from './dom.ts';
import { keyFault, otherEnvironment } from './environment.ts';
import { explain, type Fault } from './fault.ts';
import { faultNotice, serviceWords } from './notice.ts';
import { forgetAll, keepKey, keyHint, storedKey } from './stored-key.ts';
import { Workspace } from './workspace.ts';

const signIn = byId('sign-in', HTMLElement);
const form = byId('key-form', HTMLFormElement);
const input = byId('key', HTMLInputElement);
const submit = byId('key-submit', HTMLButtonElement);
const isKept = byId('keep', HTMLInputElement);
const fault = byId('key-fault', HTMLElement);
const kept = byId('kept', HTMLElement);
const panels = byId('workspace', HTMLElement);
const who = byId('who', HTMLElement);
const message = byId('page-message', HTMLElement);
const workspace = new Workspace(askForKey);

/** Whether the workspace was open before. If so, the key form says that the typed values are kept. */
let wasOpen = false;

/** Shows the key form. The other forms keep their values. */
function askForKey(refusal?: Fault): void {
  panels.hidden = true;
  who.hidden = true;
  signIn.hidden = false;
  kept.hidden = !wasOpen;
  showKeyFault(refusal);
  input.focus();
}

function showKeyFault(why: Fault | string | undefined): void {
  const words = typeof why === 'object' ? `${why.title}. ${why.remedy}` : (why ?? '');
  fault.replaceChildren(words, ...(typeof why === 'object' ? [serviceWords(why)] : []));
  if (why === undefined) input.removeAttribute('aria-invalid');
  else input.setAttribute('aria-invalid', 'true');
}

function showWorkspace(key: string): void {
  wasOpen = true;
  input.value = '';
  signIn.hidden = true;
  panels.hidden = false;
  who.hidden = false;
  byId('key-hint', HTMLElement).textContent = keyHint(key);
}

async function submitKey(): Promise<void> {
  if (!isUsable(submit)) return;
  const key = input.value.trim();
  const words = keyFault(key);
  if (words !== undefined) {
    showKeyFault(words);
    input.focus();
    return;
  }
  setUsable(submit, false);
  submit.textContent = 'Checking …';
  try {
    if (await workspace.enter(key)) {
      if (isKept.checked) keepKey(key);
      showWorkspace(key);
      workspace.show();
    }
  } catch (error) {
    showKeyFault(explain(error));
  }
  setUsable(submit, true);
  submit.textContent = 'Open the catalogue';
}

/** Opens the workspace with the key of an earlier visit. */
async function reopen(key: string): Promise<void> {
  message.replaceChildren();
  try {
    if (!(await workspace.enter(key))) return;
    showWorkspace(key);
    workspace.show({ isReturn: true });
  } catch (error) {
    message.replaceChildren(faultNotice(explain(error), () => void reopen(key)));
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submitKey();
});
form.addEventListener('input', () => showKeyFault(undefined));
// A file that is dropped beside a form must not replace the page.
for (const type of ['dragover', 'drop'] as const) {
  addEventListener(type, (event) => {
    if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
  });
}
who.append(button('Forget key', forgetAll));
byId('not-loaded', HTMLElement).remove();

const key = storedKey();
// Behind a proxy, another environment can have the same origin and thus the same storage.
if (key === undefined || otherEnvironment(key) !== undefined) askForKey();
else void reopen(key);

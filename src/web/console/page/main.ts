// The first view: the key form. The workspace is loaded when there is a key.

import { button, byId, isUsable, setUsable } from './dom.ts';
import { keyFault, otherEnvironment } from './environment.ts';
import { forgetAll, keepKey, keyHint, storedAccess, storedKey } from './stored-key.ts';
import type { KeyRefusal, Workspace } from './workspace.ts';

const signIn = byId('sign-in', HTMLElement);
const form = byId('key-form', HTMLFormElement);
const input = byId('key', HTMLInputElement);
const submit = byId('key-submit', HTMLButtonElement);
const isKept = byId('keep', HTMLInputElement);
const fault = byId('key-fault', HTMLElement);
const kept = byId('kept', HTMLElement);
const panels = byId('workspace', HTMLElement);
const who = byId('who', HTMLElement);

let loading: Promise<Workspace> | undefined;

function loadWorkspace(): Promise<Workspace> {
  loading ??= importWorkspace();
  return loading;
}

async function importWorkspace(): Promise<Workspace> {
  preloadWorkspace();
  try {
    const { Workspace } = await import('./workspace.ts');
    return new Workspace(askForKey);
  } catch (cause) {
    loading = undefined;
    const words = 'The page did not load completely. Check the connection, then load it again.';
    throw new Error(words, { cause });
  }
}

/** The browser then fetches the modules in parallel, and none waits for another. */
function preloadWorkspace(): void {
  for (const link of document.querySelectorAll('link[rel=later]')) {
    link.setAttribute('rel', 'modulepreload');
  }
}

/** Whether the workspace was open before. If so, the key form says that the typed values are kept. */
let wasOpen = false;

/** Shows the key form. The other forms keep their values. */
function askForKey(refusal?: KeyRefusal): void {
  panels.hidden = true;
  who.hidden = true;
  signIn.hidden = false;
  kept.hidden = !wasOpen;
  showKeyFault(refusal?.words);
  if (refusal !== undefined) fault.append(refusal.details);
  input.focus();
}

function showKeyFault(message: string | undefined): void {
  fault.textContent = message ?? '';
  if (message === undefined) input.removeAttribute('aria-invalid');
  else input.setAttribute('aria-invalid', 'true');
}

function showWorkspace(key: string): void {
  wasOpen = true;
  input.value = '';
  signIn.hidden = true;
  panels.dataset['access'] = storedAccess(key) ?? '';
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
    const workspace = await loadWorkspace();
    if (await workspace.enter(key)) {
      if (isKept.checked) keepKey(key);
      showWorkspace(key);
      workspace.focus();
    }
  } catch (error) {
    showKeyFault(error instanceof Error ? error.message : String(error));
  }
  setUsable(submit, true);
  submit.textContent = 'Open the catalogue';
}

/** Opens the workspace at once: the service most likely still accepts the key. */
async function reopen(key: string): Promise<void> {
  showWorkspace(key);
  try {
    await (await loadWorkspace()).enter(key);
  } catch (error) {
    askForKey();
    showKeyFault(error instanceof Error ? error.message : String(error));
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submitKey();
});
form.addEventListener('input', () => {
  showKeyFault(undefined);
  preloadWorkspace();
});
// A file that is dropped beside a form must not replace the page.
for (const type of ['dragover', 'drop'] as const) {
  addEventListener(type, (event) => {
    if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
  });
}
// A reload removes everything that this user has typed or loaded.
who.append(
  button('Forget key', () => {
    forgetAll();
    location.reload();
  }),
);

const key = storedKey();
// Behind a proxy, another environment can have the same origin and thus the same storage.
if (key === undefined || otherEnvironment(key) !== undefined) askForKey();
else void reopen(key);

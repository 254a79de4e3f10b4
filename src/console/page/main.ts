import { AddForm } from './add.ts';
import { Catalogue } from './catalogue.ts';
import { button, byId, isUsable, setUsable } from './dom.ts';
import type { Fault } from './fault.ts';
import { Lookup } from './lookup.ts';
import { Session } from './session.ts';
import { keyHint, storedKey } from './stored-key.ts';

const session = new Session();
const signIn = byId('sign-in', HTMLElement);
const form = byId('key-form', HTMLFormElement);
const input = byId('key', HTMLInputElement);
const submit = byId('key-submit', HTMLButtonElement);
const fault = byId('key-fault', HTMLElement);
const kept = byId('kept', HTMLElement);
const workspace = byId('workspace', HTMLElement);
const who = byId('who', HTMLElement);

const catalogue = new Catalogue(session, askForKey);
const added = (pet: { id: bigint }): void => void catalogue.show(pet.id);
new AddForm(session, { keyNeeded: askForKey, added }).listen();
new Lookup(session, askForKey).listen();

/** Whether the workspace was open before. If so, the key form says that the typed values are kept. */
let wasOpen = false;

/** Shows the key form. The other forms keep their values. */
function askForKey(refusal?: Fault): void {
  session.close();
  workspace.hidden = true;
  who.hidden = true;
  signIn.hidden = false;
  kept.hidden = !wasOpen;
  showKeyFault(refusal?.message);
  input.focus();
}

function showKeyFault(message: string | undefined): void {
  fault.textContent = message ?? '';
  if (message === undefined) input.removeAttribute('aria-invalid');
  else input.setAttribute('aria-invalid', 'true');
}

async function enter(key: string): Promise<void> {
  session.open(key);
  await catalogue.show();
  // The service may have refused the key.
  if (session.isOpen) showWorkspace(key);
}

function showWorkspace(key: string): void {
  wasOpen = true;
  input.value = '';
  signIn.hidden = true;
  workspace.hidden = false;
  who.hidden = false;
  byId('key-hint', HTMLElement).textContent = keyHint(key);
  byId('environment', HTMLElement).textContent = key.startsWith('pet_test_')
    ? 'Staging'
    : 'Production';
}

async function submitKey(): Promise<void> {
  if (!isUsable(submit)) return;
  const key = input.value.trim();
  if (key === '') {
    showKeyFault('Paste a key first.');
    input.focus();
    return;
  }
  setUsable(submit, false);
  submit.textContent = 'Checking …';
  try {
    await enter(key);
    if (session.isOpen) byId('title', HTMLElement).focus();
  } catch (error) {
    showKeyFault(error instanceof Error ? error.message : String(error));
  }
  setUsable(submit, true);
  submit.textContent = 'Open the catalogue';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submitKey();
});
form.addEventListener('input', () => showKeyFault(undefined));
// A reload removes everything that this user has typed or loaded.
who.append(
  button('Forget key', () => {
    session.close();
    location.reload();
  }),
);

const key = storedKey();
if (key === undefined) {
  askForKey();
} else {
  showWorkspace(key);
  void enter(key);
}

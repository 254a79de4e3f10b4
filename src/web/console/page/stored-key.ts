/** The name of everything that these pages store begins with this. */
const PREFIX = 'petstore.';
const STORAGE_NAME = `${PREFIX}key`;

/** The key of this tab or of this browser, or undefined if no key is stored or the browser forbids storage. */
export function storedKey(): string | undefined {
  try {
    const key = sessionStorage.getItem(STORAGE_NAME) ?? localStorage.getItem(STORAGE_NAME);
    return key ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores the key in this tab, unless this browser keeps it. Without a key, removes it from both. */
export function storeKey(key: string | undefined): void {
  try {
    if (key === undefined) {
      sessionStorage.removeItem(STORAGE_NAME);
      localStorage.removeItem(STORAGE_NAME);
    } else if (localStorage.getItem(STORAGE_NAME) !== key) {
      sessionStorage.setItem(STORAGE_NAME, key);
    }
  } catch {
    // Without storage, the key is kept until the page is reloaded.
  }
}

/** Stores the key in this browser instead of this tab: it stays when the tab is closed. */
export function keepKey(key: string): void {
  try {
    localStorage.setItem(STORAGE_NAME, key);
    sessionStorage.removeItem(STORAGE_NAME);
  } catch {
    // The key stays in the tab.
  }
}

/** Tabs of one browser share no sessionStorage, so they tell each other. */
const tabs = new BroadcastChannel(`${PREFIX}forget`);

/** Forgets everything that these pages have stored, in all tabs, and loads the page without it. */
export function forgetAll(): void {
  tabs.postMessage(undefined);
  forgetHere();
}

tabs.addEventListener('message', forgetHere);

function forgetHere(): void {
  try {
    for (const storage of [sessionStorage, localStorage]) {
      const names = Object.keys(storage).filter((name) => name.startsWith(PREFIX));
      for (const name of names) storage.removeItem(name);
    }
  } catch {
    // Nothing is stored.
  }
  location.reload();
}

/** Enough of the key to recognise it, and too little to use it. */
export function keyHint(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-4)}`;
}

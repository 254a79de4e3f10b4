/** The name of everything that these pages store begins with this. */
const PREFIX = 'petstore.';
const STORAGE_NAME = `${PREFIX}key`;
const ACCESS_NAME = `${PREFIX}access`;

/** The key of this tab or of this browser, or undefined if no key is stored or the browser forbids storage. */
export function storedKey(): string | undefined {
  try {
    const key = sessionStorage.getItem(STORAGE_NAME) ?? localStorage.getItem(STORAGE_NAME);
    return key ?? undefined;
  } catch {
    return undefined;
  }
}

/** What a restricted key may do. */
export type Access = 'read' | 'write';

/** What the service has refused to this key, in this tab; undefined if nothing yet. */
export function storedAccess(key: string): Access | undefined {
  try {
    const stored = sessionStorage.getItem(ACCESS_NAME);
    return (['read', 'write'] as const).find((access) => stored === access + keyHint(key));
  } catch {
    return undefined;
  }
}

/** Remembers it until the tab is closed, so that a reload does not offer again what was refused. */
export function storeAccess(key: string, access: Access): void {
  try {
    sessionStorage.setItem(ACCESS_NAME, access + keyHint(key));
  } catch {
    // The service refuses it again.
  }
}

/** Stores the key in this tab, unless this browser keeps it. Without a key, removes it from both. */
export function storeKey(key: string | undefined): void {
  try {
    if (key === undefined) {
      sessionStorage.removeItem(STORAGE_NAME);
      sessionStorage.removeItem(ACCESS_NAME);
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

/** Removes everything that these pages have stored. */
export function forgetAll(): void {
  try {
    for (const storage of [sessionStorage, localStorage]) {
      const names = Object.keys(storage).filter((name) => name.startsWith(PREFIX));
      for (const name of names) storage.removeItem(name);
    }
  } catch {
    // Nothing is stored.
  }
}

/** Enough of the key to recognise it, and too little to use it. */
export function keyHint(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-4)}`;
}

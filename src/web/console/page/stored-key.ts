const STORAGE_NAME = 'petstore.key';

/** The key that this tab has stored, or undefined if it has stored no key or the browser forbids storage. */
export function storedKey(): string | undefined {
  try {
    return sessionStorage.getItem(STORAGE_NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeKey(key: string | undefined): void {
  try {
    if (key === undefined) sessionStorage.removeItem(STORAGE_NAME);
    else sessionStorage.setItem(STORAGE_NAME, key);
  } catch {
    // Without storage, the key is kept until the page is reloaded.
  }
}

/** Enough of the key to recognise it, and too little to use it. */
export function keyHint(key: string): string {
  return `${key.slice(0, 9)}…${key.slice(-4)}`;
}

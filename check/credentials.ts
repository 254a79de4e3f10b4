/** How a request authenticates: correctly with `key`, or in one of the ways that must be refused. */
export type Credential = 'key' | 'none' | 'wrong key' | 'Basic' | 'bare key' | 'no token';

interface CredentialForm {
  /** For people to read; it never contains the key. */
  description: string;
  /** The Authorization header; undefined when none is sent. */
  header: (key: string) => string | undefined;
}

export const CREDENTIALS: Record<Credential, CredentialForm> = {
  key: { description: 'with the key', header: (key) => `Bearer ${key}` },
  none: { description: 'without an Authorization header', header: () => undefined },
  'wrong key': {
    description: 'with a key that differs in its last character',
    header: (key) => `Bearer ${wrongKey(key)}`,
  },
  Basic: {
    description: 'with the key in Basic authentication',
    header: (key) => `Basic ${basicToken(key)}`,
  },
  'bare key': { description: 'with the key but without the word Bearer', header: (key) => key },
  'no token': { description: 'with the word Bearer but without a key', header: () => 'Bearer' },
};

/**
 * The texts to hide when a service repeats them: the key, and every form from which it could be guessed.
 * The longest come first, so that replacing a shorter one never leaves part of a longer one visible.
 */
export function secretsOf(key: string): string[] {
  const plain = [key, wrongKey(key), basicToken(key)];
  const forms = plain.flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
  ]);
  return [...new Set(forms)].toSorted((one, other) => other.length - one.length);
}

/** Differs only in the last character, which detects a service that compares only the beginning. */
function wrongKey(key: string): string {
  return key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
}

function basicToken(key: string): string {
  return Buffer.from(`petstore:${key}`).toString('base64');
}

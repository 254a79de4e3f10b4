/** The ways in which a request may show, or fail to show, the key. */
export type Credential = 'key' | 'none' | 'wrong key' | 'Basic' | 'bare key' | 'no token';

interface Shown {
  /** For people to read: the key itself is never in it. */
  words: string;
  /** The Authorization header; undefined where there is none. */
  header: (key: string) => string | undefined;
}

export const CREDENTIALS: Record<Credential, Shown> = {
  key: { words: 'with the key', header: (key) => `Bearer ${key}` },
  none: { words: 'without an Authorization header', header: () => undefined },
  'wrong key': {
    words: 'with a key that differs in its last character',
    header: (key) => `Bearer ${wrongKey(key)}`,
  },
  Basic: {
    words: 'with the key in Basic authentication',
    header: (key) => `Basic ${basicToken(key)}`,
  },
  'bare key': { words: 'with the key but without the word Bearer', header: (key) => key },
  'no token': { words: 'with the word Bearer but without a key', header: () => 'Bearer' },
};

/**
 * Everything that must not be shown should a service repeat it: the key, and what it can be guessed
 * from. The longest come first, so that none is left half covered.
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

/** A near miss finds a service that compares only the beginning. */
function wrongKey(key: string): string {
  return key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
}

function basicToken(key: string): string {
  return Buffer.from(`petstore:${key}`).toString('base64');
}

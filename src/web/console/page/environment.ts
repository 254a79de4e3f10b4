import { environmentOf, isKeyOrStart, KEY_LENGTH } from '../../../domain/key-form.ts';

/** The service writes it into the page. */
export const ENVIRONMENT = document.documentElement.dataset['environment'] ?? 'production';

/** Why the text cannot be a key of this environment; undefined if it can. The service knows the rest. */
export function keyFault(text: string): string | undefined {
  if (text === '') return 'Paste a key first.';
  const other = otherEnvironment(text);
  if (other !== undefined) return `This is a ${other} key. This console is for ${ENVIRONMENT}.`;
  if (!isKeyOrStart(text)) {
    return `This is not an API key: a key begins with “pet_” and has ${KEY_LENGTH} characters.`;
  }
  if (text.length === KEY_LENGTH) return undefined;
  return `This is only a part of a key: ${text.length} of ${KEY_LENGTH} characters. Copy it again, to its end.`;
}

/** The environment that the key is for, if it is not that of this page. */
export function otherEnvironment(key: string): string | undefined {
  const environment = environmentOf(key);
  return environment === ENVIRONMENT ? undefined : environment;
}

// What an API key looks like. A browser runs this file too, so it imports nothing.

export const ENVIRONMENTS = ['production', 'staging'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export const KEY_PREFIX: Record<Environment, string> = {
  production: 'pet_live_',
  staging: 'pet_test_',
};
export const KEY_LENGTH = 45;

const KEY_OR_START = /^pet_(?:live|test)_[0-9A-Za-z]{0,36}$/;

/** Whether the text has the form of a key, or of the beginning of one. */
export function isKeyOrStart(text: string): boolean {
  return KEY_OR_START.test(text);
}

/** Whether the text has the form of a key. Whether its checksum is right is for the service to say. */
export function isKeyForm(text: string): boolean {
  return text.length === KEY_LENGTH && isKeyOrStart(text);
}

/** The environment that a key is for, by its prefix. */
export function environmentOf(key: string): Environment | undefined {
  return ENVIRONMENTS.find((environment) => key.startsWith(KEY_PREFIX[environment]));
}

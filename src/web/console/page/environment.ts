/** The service writes it into the page. */
export const ENVIRONMENT = document.documentElement.dataset['environment'] ?? 'production';

const ENVIRONMENT_OF_PREFIX = { pet_live_: 'production', pet_test_: 'staging' };

/** The environment that the key is for, if it is not that of this page. */
export function otherEnvironment(key: string): string | undefined {
  return Object.entries(ENVIRONMENT_OF_PREFIX).find(
    ([prefix, environment]) => key.startsWith(prefix) && environment !== ENVIRONMENT,
  )?.[1];
}

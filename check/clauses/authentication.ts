import type { Clause } from '../clause.ts';
import type { Credential } from '../credentials.ts';
import { expectError, expectThat } from '../expect.ts';
import { OPERATIONS, type AskedOperation } from '../operations.ts';

const section = 'Authentication';

export const AUTHENTICATION: Clause[] = [
  ...OPERATIONS.map((asked) =>
    refusal(
      asked,
      'Basic',
      `Authentication.1.${asked.operation}`,
      `${asked.title} requires HTTP bearer authentication: Basic is not enough.`,
    ),
  ),
  {
    kind: 'service',
    id: 'Authentication.2',
    section,
    sentence: 'The client sends the API key as a bearer token in the Authorization header.',
    writes: false,
    check: async (service) => {
      // Knocks again, because a refused key keeps every other clause from being asked with it.
      const exchange = await service.knock();
      expectThat(exchange.status !== 401, exchange, 'anything but 401, if the key is a valid one');
    },
  },
  ...OPERATIONS.map((asked) =>
    refusal(
      asked,
      'bare key',
      `Authentication.2.${asked.operation}`,
      `${asked.title} takes the key in the form "Bearer <API_KEY>": not without the word Bearer.`,
    ),
  ),
  ...OPERATIONS.map((asked) =>
    refusal(
      asked,
      'no token',
      `Authentication.3.${asked.operation}`,
      `${asked.title}: 401, Error, when the header holds the word Bearer and no key.`,
    ),
  ),
];

function refusal(
  { writes, ask }: AskedOperation,
  credential: Credential,
  id: string,
  sentence: string,
): Clause {
  return {
    kind: 'service',
    id,
    section,
    sentence,
    writes,
    check: async (service) => expectError(await ask(service, credential), 401),
  };
}

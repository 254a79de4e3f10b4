import type { Clause } from '../clause.ts';
import type { Credential } from '../credentials.ts';
import { expectError, expectThat } from '../expect.ts';
import { OPERATIONS, type CheckedOperation } from '../operations.ts';

const section = 'Authentication';

export const AUTHENTICATION: Clause[] = [
  ...OPERATIONS.map((checked) =>
    refusal(
      checked,
      'Basic',
      `Authentication.1.${checked.operation}`,
      `${checked.title} requires HTTP bearer authentication: Basic is not enough.`,
    ),
  ),
  {
    kind: 'service',
    id: 'Authentication.2',
    section,
    sentence: 'The client sends the API key as a bearer token in the Authorization header.',
    writes: false,
    check: async (service) => {
      // A new probe, because after a refused key no other request is sent with it.
      const exchange = await service.probe();
      expectThat(exchange.status !== 401, exchange, 'anything but 401, if the key is a valid one');
    },
  },
  ...OPERATIONS.map((checked) =>
    refusal(
      checked,
      'bare key',
      `Authentication.2.${checked.operation}`,
      `${checked.title} takes the key in the form "Bearer <API_KEY>": not without the word Bearer.`,
    ),
  ),
  ...OPERATIONS.map((checked) =>
    refusal(
      checked,
      'no token',
      `Authentication.3.${checked.operation}`,
      `${checked.title}: 401, Error, when the header holds the word Bearer and no key.`,
    ),
  ),
];

function refusal(
  { writes, send }: CheckedOperation,
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
    check: async (service) => expectError(await send(service, credential), 401),
  };
}

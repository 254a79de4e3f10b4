import { exchange, parseResponses } from '../../../harness/raw-socket.ts';
import type { TestService } from '../../../harness/test-service.ts';

const DEPRECATED = 'GET /v1/pets/1';
const REQUESTS = [
  'GET /v1/pets',
  'POST /v1/pets',
  DEPRECATED,
  'PUT /v1/pets',
  'DELETE /v1/pets/1',
  'GET /v1/pets?limit=0',
  'GET /v1/nothing',
  'GET /v1',
];
/** These differ between any two responses. */
const OWN_HEADERS = /^(?:x-request-id|date):/i;
const DEPRECATION_HEADERS = /^(?:deprecation:|sunset:|link: .*rel="deprecation")/i;

/**
 * Compares the bytes of all refusals of these keys, and of requests without a key. They must be equal whatever
 * the key and the route, but for the headers of the deprecated operation.
 */
export async function findDifferentRefusals(
  service: TestService,
  keys: Readonly<Record<string, string>>,
): Promise<{ compared: number; violations: string[] }> {
  const violations: string[] = [];
  let compared = 0;
  for (const group of [Object.entries(keys), [['no key', '']]]) {
    let first: string | undefined;
    for (const [name, secret] of group) {
      for (const request of REQUESTS) {
        const refusal = await refusalOf(service, request, secret ?? '');
        first ??= refusal;
        compared += 1;
        if (refusal !== first) {
          violations.push(`${name}, ${request}: ${refusal} instead of ${first}`);
        }
      }
    }
  }
  return { compared, violations };
}

async function refusalOf(
  { baseUrl }: TestService,
  request: string,
  secret: string,
): Promise<string> {
  const authorization = secret === '' ? '' : `Authorization: Bearer ${secret}\r\n`;
  const bytes = `${request} HTTP/1.1\r\nHost: a\r\n${authorization}\r\n`;
  const received = await exchange(Number(new URL(baseUrl).port), [bytes], { responsesMax: 1 });
  const [response] = parseResponses(received);
  const lines = (response?.head ?? '').split('\r\n').filter((line) => !OWN_HEADERS.test(line));
  const isDeprecated = request === DEPRECATED;
  const kept = lines.filter((line) => !isDeprecated || !DEPRECATION_HEADERS.test(line));
  if (isDeprecated && lines.length - kept.length !== 3) kept.push('no deprecation headers');
  return JSON.stringify([...kept, response?.body]);
}

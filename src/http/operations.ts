import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { IdempotencyKey } from '../domain/idempotency.ts';
import { Int64 } from '../domain/int64.ts';
import { Cursor, Limit } from '../domain/page.ts';
import { NewPet, Pet, Pets, PetStatus } from '../domain/pet.ts';
import { consoleEndpoints } from './console/endpoints.ts';
import type { Endpoint, Operation, Parameter, ResponseHeader } from './operation.ts';
import { createPet, getPet, GET_PET_DEPRECATION, listPets } from './pets.ts';
import { siteOf } from './target.ts';

const prefer: Parameter = {
  name: 'Prefer',
  in: 'header',
  schema: { type: 'string', examples: ['handling=strict'] },
  description:
    'With `handling=strict` (RFC 7240), the service refuses unknown query parameters and body fields. By default it ignores them.',
};

const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  schema: { type: 'string', examples: ['"Jr8ccmnLrVqBmYJ2p3wE1g"'] },
  description:
    'The `ETag` of an earlier response. The response is 304 if nothing has changed since.',
};

const requestId: Parameter = {
  name: 'X-Request-Id',
  in: 'header',
  schema: { type: 'string', examples: ['Hk2p0b7Yc1nq'] },
  description:
    'Identifies the request in the log of the service: 1 to 128 letters, digits, dots, underscores and hyphens. The service generates an id if none or another value is sent.',
};

export const operations: readonly Operation[] = [
  {
    id: 'listPets',
    method: 'GET',
    path: '/pets',
    summary: 'List all animals',
    description:
      'Returns a page of animals in ascending order of id. To read all animals, follow the `rel="next"` link until a response has none. The `rel="last"` link returns the newest animals; from there, the `rel="prev"` links lead back to the oldest.',
    scope: 'pets:read',
    parameters: [
      {
        name: 'limit',
        in: 'query',
        schema: Limit,
        description: 'Maximum number of animals to return.',
      },
      {
        name: 'status',
        in: 'query',
        schema: PetStatus,
        description: 'Return only animals with this status.',
      },
      {
        name: 'cursor',
        in: 'query',
        schema: Cursor,
        description:
          'Return the page at this cursor. Take the cursor from a `rel="next"` or `rel="prev"` link, and keep the same `status`. With `last`, the service returns the last `limit` animals.',
      },
      ifNoneMatch,
      prefer,
      requestId,
    ],
    responses: {
      200: {
        description: 'A page of animals.',
        schema: Pets,
        headers: ['Link', 'ETag', 'Cache-Control'],
      },
      304: {
        description: 'The page has not changed: `If-None-Match` has its current ETag.',
        headers: ['Link', 'ETag', 'Cache-Control'],
      },
    },
    errors: ['invalid_parameter', 'unknown_parameter', 'invalid_cursor'],
    handler: listPets,
  },
  {
    id: 'createPet',
    method: 'POST',
    path: '/pets',
    summary: 'Add an animal',
    description:
      'Stores an animal and assigns its id. The response is sent after the animal is durably stored.',
    scope: 'pets:write',
    parameters: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        schema: IdempotencyKey,
        description:
          'Makes the create safe to retry: 1 to 255 visible ASCII characters, with or without double quotes. Within quotes, a backslash precedes each quote and backslash of the key. A create with the same key and the same animal within 24 hours stores nothing and gets the first response again.',
      },
      prefer,
      requestId,
    ],
    body: NewPet,
    responses: {
      201: {
        description: 'The animal was added.',
        schema: Pet,
        headers: ['Location', 'Idempotency-Replayed', 'Link', 'Cache-Control'],
      },
    },
    errors: [
      'invalid_json',
      'missing_field',
      'invalid_field',
      'unknown_field',
      'unknown_parameter',
      'invalid_idempotency_key',
      'body_too_large',
      'unsupported_media_type',
      'idempotency_key_reused',
    ],
    handler: createPet,
  },
  {
    id: 'getPet',
    method: 'GET',
    path: '/pets/{petId}',
    summary: 'Get an animal',
    description:
      'Returns one animal. This operation is deprecated and will be removed on 5 December 2030. Use `GET /pets` with the `status` filter instead.',
    scope: 'pets:read',
    parameters: [
      {
        name: 'petId',
        in: 'path',
        schema: { ...Int64, examples: [1] },
        description: 'Identifier of the animal to retrieve.',
      },
      ifNoneMatch,
      prefer,
      requestId,
    ],
    responses: {
      200: {
        description: 'The animal.',
        schema: Pet,
        headers: ['ETag', 'Cache-Control'],
      },
      304: {
        description: 'The animal has not changed: `If-None-Match` has its current ETag.',
        headers: ['ETag', 'Cache-Control'],
      },
    },
    errors: ['pet_not_found', 'operation_removed', 'unknown_parameter'],
    deprecation: GET_PET_DEPRECATION,
    handler: getPet,
  },
];

/** Every response header that the interface defines. */
export const RESPONSE_HEADERS: Readonly<Record<string, ResponseHeader>> = {
  'X-Request-Id': {
    description: 'Identifies the request in the log of the service.',
    example: 'Hk2p0b7Yc1nq',
  },
  Link: {
    description:
      'Links (RFC 8288). A list has `rel="first"`, `rel="last"` and, except on the last page, `rel="next"`. On the way back from `rel="last"`, each page except the oldest has `rel="prev"`. The deprecated operation has `rel="successor-version"` and `rel="deprecation"`. If unknown query parameters were ignored, `rel="help"` explains strict handling. An error has `rel="help"`, which explains its code.',
    example:
      '<http://127.0.0.1:8080/v1/pets?cursor=AAAAAAAAAAAU_NPA0w>; rel="next", <http://127.0.0.1:8080/v1/pets>; rel="first", <http://127.0.0.1:8080/v1/pets?cursor=last>; rel="last"',
  },
  ETag: {
    description: 'Changes when the body or the `Link` header changes. Send it in `If-None-Match`.',
    example: '"Jr8ccmnLrVqBmYJ2p3wE1g"',
  },
  'Cache-Control': { description: 'How the response may be cached.', example: 'private, no-cache' },
  Location: {
    description: 'The URL of the new animal. Absent after getPet is removed.',
    example: 'http://127.0.0.1:8080/v1/pets/1',
  },
  'Idempotency-Replayed': {
    description: '`true` if this create is a repetition and nothing was stored.',
    example: 'true',
  },
  'Preference-Applied': {
    description: 'Present if `Prefer: handling=strict` was applied.',
    example: 'handling=strict',
  },
  Deprecation: {
    description: 'The date since which the operation is deprecated (RFC 9745).',
    example: '@1794614400',
  },
  Sunset: {
    description: 'The date on which the operation is removed (RFC 8594).',
    example: 'Thu, 05 Dec 2030 00:00:00 GMT',
  },
  'WWW-Authenticate': {
    description: 'The authentication challenge (RFC 6750).',
    example: 'Bearer realm="petstore"',
  },
  'Accept-Post': {
    description: 'The media type that the service accepts.',
    example: 'application/json',
  },
  'Retry-After': { description: 'The number of seconds to wait before a retry.', example: '1' },
  RateLimit: {
    description:
      'The remaining requests and the seconds until the limit resets. Present if a rate limit is configured.',
    example: '"default";r=599;t=60',
  },
  'RateLimit-Policy': {
    description: 'The rate limit. Present if one is configured.',
    example: '"default";q=600;w=60',
  },
};

/** For every response of a deprecated operation: RFC 9745, RFC 8594 and two links. */
export function deprecationHeaders({ deprecation }: Endpoint, baseUrl: string): string[] {
  if (deprecation === undefined) return [];
  const { since, removedAt, successorPath } = deprecation;
  const page = `${siteOf(baseUrl)}/docs/deprecations`;
  return [
    'Deprecation',
    `@${since.getTime() / 1000}`,
    'Sunset',
    removedAt.toUTCString(),
    'Link',
    `<${baseUrl}${successorPath}>; rel="successor-version", <${page}>; rel="deprecation"; type="text/html"`,
  ];
}

/** Errors that every operation can return, in addition to its own. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'malformed_request',
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'insufficient_scope',
  'rate_limited',
  'unavailable',
  'overloaded',
];
/** For a request that is sent too slowly, and for a defect. The OpenAPI document has them once, not per operation. */
const GENERAL_STATUSES = [408, 500];
/** The statuses of requests that match no operation: pages, health, OPTIONS and refusals. */
const STATUSES_OF_OTHER = [200, 204, 304, 400, 401, 404, 405, 414, 417, 431, 500, 501, 503, 505];

/**
 * Every operation with every status it can have. A counter that begins when its first event happens begins
 * at 1, and `increase()` of Prometheus misses that event.
 */
export const METRIC_SERIES: readonly (readonly [operation: string, status: number])[] = [
  ...[...operations, ...consoleEndpoints].flatMap(({ id, responses, errors }) => {
    const refused = [...errors, ...COMMON_ERRORS].map((code) => ERRORS[code].status);
    const statuses = new Set([
      ...Object.keys(responses).map(Number),
      ...refused,
      ...GENERAL_STATUSES,
    ]);
    return [...statuses].map((status) => [id, status] as const);
  }),
  ...STATUSES_OF_OTHER.map((status) => ['other', status] as const),
];

import { ENVIRONMENTS, type Environment } from '../domain/api-key.ts';
import { ERRORS, ErrorBody, type ErrorCode } from '../domain/errors.ts';
import { NewPet, Pet, Pets, PetStatus } from '../domain/pet.ts';
import { operations, type Answer, type Operation } from './operations.ts';

const COMPONENTS = { NewPet, Pet, Pets, PetStatus, Error: ErrorBody };

/** Errors that any operation can give, beside its own. */
const ERRORS_OF_ALL: readonly ErrorCode[] = [
  'malformed_request',
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'insufficient_scope',
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'rate_limited',
  'headers_too_large',
  'internal_error',
  'not_implemented',
  'unavailable',
  'overloaded',
  'http_version_not_supported',
];

const HEADERS_OF_ALL = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
const HEADERS_OF_DEPRECATED = ['Deprecation', 'Sunset', 'Link'];

const HEADERS_OF_ERROR: Partial<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  415: ['Accept-Post'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Where the two environments are found when nobody says otherwise. */
export const DEFAULT_SERVERS: Readonly<Record<Environment, string>> = {
  production: 'http://127.0.0.1:8080/v1',
  staging: 'http://127.0.0.1:8090/v1',
};

/** The OpenAPI document of the interface, made from the same table that answers the requests. */
export function openApiDocument(servers = DEFAULT_SERVERS): object {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Pet Store',
      version: '1.0.0',
      summary: 'The catalogue of animals offered by a store.',
      description:
        'List animals by page and by status, add one, and fetch one by its id (deprecated). Every error has the same body. `HEAD` works wherever `GET` does, and `OPTIONS` needs no key.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: ENVIRONMENTS.map((environment) => ({
      url: servers[environment],
      description: environment === 'production' ? 'Production' : 'Staging',
    })),
    security: [{ bearerAuth: [] }],
    tags: [{ name: 'pets', description: 'The animals of the store.' }],
    paths: paths(),
    components: {
      schemas: Object.fromEntries(
        Object.entries(COMPONENTS).map(([name, schema]) => [name, jsonSchema(schema, true)]),
      ),
      headers: HEADERS,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API key as a bearer token. Scopes: `pets:read`, `pets:write`.',
        },
      },
    },
  };
}

function paths(): object {
  return Object.fromEntries(
    [...Map.groupBy(operations, ({ path }) => path)].map(([path, sharing]) => [
      path,
      Object.fromEntries(sharing.map((each) => [each.method.toLowerCase(), describe(each)])),
    ]),
  );
}

function describe(operation: Operation): object {
  const { id, summary, description, parameters, body, answers, errors, deprecation } = operation;
  const shared =
    deprecation === undefined ? HEADERS_OF_ALL : [...HEADERS_OF_ALL, ...HEADERS_OF_DEPRECATED];
  const codes = Map.groupBy([...errors, ...ERRORS_OF_ALL], (code) => ERRORS[code].status);
  return {
    operationId: id,
    tags: ['pets'],
    summary,
    description,
    ...(deprecation === undefined ? {} : { deprecated: true }),
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      in: parameter.in,
      required: parameter.in === 'path',
      description: parameter.description,
      schema: jsonSchema(parameter.schema),
    })),
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, answer]) => [status, success(answer, shared)]),
      ...[...codes].map(([status, those]) => [String(status), failure(status, those, shared)]),
    ]),
  };
}

function success({ description, schema, headers }: Answer, shared: readonly string[]): object {
  return {
    description,
    headers: headerReferences([...headers, ...shared]),
    ...(schema === undefined ? {} : { content: jsonContent(schema) }),
  };
}

function failure(status: number, codes: readonly ErrorCode[], shared: readonly string[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(' '),
    headers: headerReferences([...(HEADERS_OF_ERROR[status] ?? []), ...shared]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { code, message: ERRORS[code].meaning, status } }]),
        ),
      },
    },
  };
}

function headerReferences(names: readonly string[]): object {
  return Object.fromEntries(
    [...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function jsonContent(schema: object): object {
  const { examples } = schema as { examples?: unknown[] };
  return { 'application/json': { schema: jsonSchema(schema), example: examples?.[0] } };
}

/**
 * Turns a schema of ours into the document's JSON Schema: what is a bigint in memory is an int64 on the
 * wire, and a schema with a title of its own is referred to by it.
 */
function jsonSchema(schema: unknown, isComponent = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => jsonSchema(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { title, ...rest } = schema as Record<string, unknown>;
  if (!isComponent && typeof title === 'string') {
    const reference = { $ref: `#/components/schemas/${title}` };
    return 'default' in rest ? { ...reference, default: rest['default'] } : reference;
  }
  if (rest['type'] === 'bigint') {
    const { description } = rest;
    return {
      type: 'integer',
      format: 'int64',
      ...(description === undefined ? {} : { description }),
    };
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, jsonSchema(value)]),
  );
}

/** Every header of an answer that the interface gives a meaning to. */
const HEADERS = {
  'X-Request-Id': header('Names this exchange in the log of the service.', 'Hk2p0b7Yc1nq'),
  Link: header(
    'RFC 8288. On a list: `rel="next"` until the last page, and `rel="first"`. On the deprecated operation: `rel="successor-version"` and `rel="deprecation"`.',
    '<http://127.0.0.1:8080/v1/pets?cursor=AAAAAAAAAAAAFAnHVOs>; rel="next", <http://127.0.0.1:8080/v1/pets>; rel="first"',
  ),
  ETag: header(
    'Changes with the body or the Link; send it back as If-None-Match.',
    '"Jr8ccmnLrVqBmYJ2p3wE1g"',
  ),
  'Cache-Control': header('How the answer may be kept.', 'private, no-cache'),
  Location: header(
    'Where the new animal is; left out once getPet is removed.',
    'http://127.0.0.1:8080/v1/pets/1',
  ),
  'Idempotency-Replayed': header('`true` when this create had happened before.', 'true'),
  'Preference-Applied': header(
    'Present when `Prefer: handling=strict` was honoured.',
    'handling=strict',
  ),
  Deprecation: header('RFC 9745: since when the operation is deprecated.', '@1794614400'),
  Sunset: header('RFC 8594: when the operation is removed.', 'Thu, 05 Dec 2030 00:00:00 GMT'),
  'WWW-Authenticate': header('The challenge (RFC 6750).', 'Bearer realm="petstore"'),
  'Accept-Post': header('The media type that is read.', 'application/json'),
  'Retry-After': header('Seconds after which to try again.', '1'),
  RateLimit: header(
    'When a rate limit is configured: what is left, and for how long.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': header('When a rate limit is configured: the limit.', '"default";q=600;w=60'),
};

function header(description: string, example: string): object {
  return { description, schema: { type: 'string' }, example };
}

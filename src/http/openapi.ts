import { ERROR_CODES, ERRORS, ErrorBody, ErrorCode } from '../domain/errors.ts';
import { NewPet, Pet, Pets, PetStatus } from '../domain/pet.ts';
import { STATUS_CODES } from './wire/node-http.ts';
import { HEADER_OF_ERROR } from './error-response.ts';
import type { Operation, OperationResponse, ResponseHeader } from './operation.ts';
import { COMMON_ERRORS, operations, RESPONSE_HEADERS } from './operations.ts';

const COMPONENTS = { NewPet, Pet, Pets, PetStatus, Error: ErrorBody, ErrorCode };

/** Errors that any HTTP request can get. They are one shared `default` response. */
const GENERAL_ERRORS: readonly ErrorCode[] = [
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
  'not_implemented',
  'http_version_not_supported',
];

/** Errors that are the same for every operation. They are components, so that a generator names them once. */
const SHARED_STATUSES = [401, 403, 429, 503];

/** The two environments of the specification, with the base URLs of the default settings. */
const ENVIRONMENTS = [
  { url: 'http://127.0.0.1:8080/v1', description: 'Production' },
  { url: 'http://127.0.0.1:8090/v1', description: 'Staging' },
];

/**
 * The OpenAPI document, generated from the table of operations that also serves the requests. A running
 * service passes its base URL, and is then the only server.
 */
export function openApiDocument(baseUrl?: string): object {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Pet Store',
      version: '1.0.0',
      summary: 'The catalogue of animals offered by a store.',
      description:
        'List animals by page and by status, add an animal, and get one by its id (deprecated). All errors have the same body. Every `GET` operation also supports `HEAD`. `OPTIONS` requires no key.',
      contact: { name: 'The maintainers of the Pet Store service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: baseUrl === undefined ? ENVIRONMENTS : [{ url: baseUrl, description: 'This service' }],
    security: [{ bearerAuth: [] }],
    tags: [{ name: 'pets', description: 'The animals of the store.' }],
    paths: paths(),
    components: {
      schemas: Object.fromEntries(
        Object.entries(COMPONENTS).map(([name, schema]) => [name, jsonSchema(schema, true)]),
      ),
      responses: { GeneralError: failure(GENERAL_ERRORS, ['X-Request-Id']), ...sharedResponses() },
      headers: Object.fromEntries(Object.entries(RESPONSE_HEADERS).map(describeHeader)),
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description: 'Send the API key as a bearer token. Scopes: `pets:read`, `pets:write`.',
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
  const { id, summary, description, parameters, body, responses, errors, deprecation } = operation;
  const shared = headersOf(200, operation);
  const codes = Map.groupBy([...errors, ...COMMON_ERRORS], (code) => ERRORS[code].status);
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
      example: exampleOf(parameter.schema),
    })),
    ...(body && {
      requestBody: { description: 'An animal to add.', required: true, content: jsonContent(body) },
    }),
    responses: Object.fromEntries([
      ...Object.entries(responses).map(([status, each]) => [status, success(each, shared)]),
      ...[...codes].map(([status, those]) => [
        String(status),
        SHARED_STATUSES.includes(status)
          ? { $ref: `#/components/responses/${sharedName(status, operation)}` }
          : failure(those, headersOf(status, operation)),
      ]),
      ['default', { $ref: '#/components/responses/GeneralError' }],
    ]),
  };
}

/** The headers that any response with this status can have, in the order of the checks. */
function headersOf(status: number, { deprecation }: Operation): string[] {
  const codes = ERROR_CODES.filter((code) => ERRORS[code].status === status);
  return [
    ...codes.flatMap((code) => HEADER_OF_ERROR[code]?.[0] ?? []),
    'X-Request-Id',
    ...(deprecation === undefined ? [] : ['Deprecation', 'Sunset', 'Link']),
    ...(status === 401 ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...([401, 403, 410, 429].includes(status) ? [] : ['Preference-Applied']),
  ];
}

/** A reference cannot add headers, so a deprecated operation has its own responses. */
function sharedName(status: number, { deprecation }: Operation): string {
  const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? '';
  return deprecation === undefined ? name : `Deprecated${name}`;
}

function sharedResponses(): object {
  const named = operations.flatMap((operation) =>
    SHARED_STATUSES.map((status) => {
      const codes = COMMON_ERRORS.filter((code) => ERRORS[code].status === status);
      return [sharedName(status, operation), failure(codes, headersOf(status, operation))];
    }),
  );
  return Object.fromEntries(named) as object;
}

function success({ description, schema, headers }: OperationResponse, shared: string[]): object {
  return {
    description,
    headers: headerReferences([...headers, ...shared]),
    ...(schema === undefined ? {} : { content: jsonContent(schema) }),
  };
}

function failure(codes: readonly ErrorCode[], headers: readonly string[]): object {
  const errors = codes.map((code) => ({
    code,
    message: ERRORS[code].meaning,
    status: ERRORS[code].status,
  }));
  return {
    description: errors.map(({ code, message }) => `\`${code}\`: ${message}`).join(' '),
    headers: headerReferences(['Cache-Control', 'Link', ...headers]),
    content: {
      'application/json': {
        schema: jsonSchema(ErrorBody),
        examples: Object.fromEntries(errors.map((value) => [value.code, { value }])),
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
  return { 'application/json': { schema: jsonSchema(schema), example: exampleOf(schema) } };
}

function exampleOf(schema: object): unknown {
  return (schema as { examples?: unknown[] }).examples?.[0];
}

/**
 * Converts a schema of the domain to JSON Schema: a bigint becomes an int64, and a schema with a title
 * becomes a reference to the component of that name.
 */
function jsonSchema(schema: unknown, isComponent = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => jsonSchema(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { title, ...rest } = schema as Record<string, unknown>;
  if (!isComponent && typeof title === 'string') {
    const reference = { $ref: `#/components/schemas/${title}` };
    // The description states the default: generators make a property with a `default` required.
    return 'default' in rest ? { ...reference, description: rest['description'] } : reference;
  }
  if (rest['type'] === 'bigint') {
    const { minimum: _min, maximum: _max, ...others } = rest;
    return { ...others, type: 'integer', format: 'int64' };
  }
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, jsonSchema(value)]),
  );
}

function describeHeader([name, { description, example }]: [string, ResponseHeader]) {
  return [name, { description, schema: { type: 'string' }, example }];
}

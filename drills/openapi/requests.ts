import fc, { type Arbitrary } from 'fast-check';
import { operationsOf, type OpenApiDocument, type Operation, type Parameter } from './document.ts';
import { Schemas, type Schema } from './json-schema.ts';

export const CALLERS = [
  'both scopes',
  'pets:read',
  'pets:write',
  'expired',
  'revoked',
  'unknown',
  'other environment',
  'malformed',
  'none',
] as const;
export type Caller = (typeof CALLERS)[number];

/** The value of a parameter: a text, or the number of a value that the service gave, counted from the last. */
export type ParameterValue = string | { issued: number };

/** One request. It is plain JSON, so that a failing case can be read. */
export interface Plan {
  operation: string;
  isHead: boolean;
  caller: Caller;
  /** A query parameter can be given twice. */
  parameters: Readonly<Record<string, readonly ParameterValue[]>>;
  body?: string;
  contentType?: string;
  /** The last request again. A read is repeated with the ETag of its response. */
  isRepetition?: boolean;
}

const MEDIA_TYPES = ['application/json', 'application/json; charset=utf-8', 'text/plain', ''];
const PREFERENCES = ['handling=strict', 'handling=strict', 'return=minimal', 'handling=lenient'];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const IDEMPOTENCY_KEYS = ['a', '"a"', '~'.repeat(255)];
const INVALID_IDEMPOTENCY_KEYS = ['', '""', 'a b', 'é', 'a'.repeat(256)];
const BODY_BYTES_MAX = 64 * 1024;
const BROKEN_BODIES = [
  '',
  '{',
  '{"name":',
  'nothing',
  '[]',
  '"Rex"',
  '{"name":"a","categoryId":1}}',
];
const TOO_LARGE_BODY = `{"name":"${'a'.repeat(BODY_BYTES_MAX)}","categoryId":1}`;
const REQUESTS_PER_CASE_MAX = 5;
const NO_VALUE = fc.constant<ParameterValue[]>([]);

/** Sequences of requests to every operation of the document, valid and invalid. */
export function requestSequences(document: OpenApiDocument): Arbitrary<Plan[]> {
  const schemas = new Schemas(document.components.schemas);
  const requests = operationsOf(document).map((operation) => requestsTo(operation, schemas));
  const plans = fc.oneof(...requests, fc.constant(REPETITION));
  return fc.array(plans, { minLength: 1, maxLength: REQUESTS_PER_CASE_MAX });
}

const REPETITION: Plan = {
  operation: '',
  isHead: false,
  caller: 'both scopes',
  parameters: {},
  isRepetition: true,
};

function requestsTo(operation: Operation, schemas: Schemas): Arbitrary<Plan> {
  const { operationId, method, parameters, requestBody } = operation;
  const schema = requestBody?.content['application/json']?.schema;
  const given = parameters.map((each) => [each.name, valuesOf(each, schemas)] as const);
  return fc.record({
    operation: fc.constant(operationId),
    isHead: method === 'GET' ? oneIn(5, fc.constant(true), fc.constant(false)) : fc.constant(false),
    caller: fc.oneof(
      { weight: 9, arbitrary: fc.constant<Caller>('both scopes') },
      fc.constantFrom(...CALLERS),
    ),
    parameters: fc
      .record({
        ...Object.fromEntries(given),
        // A parameter that no operation has.
        unknown: oneIn(6, fc.constant<ParameterValue[]>(['1']), NO_VALUE),
      })
      .map((values): Plan['parameters'] => values),
    ...(schema === undefined
      ? {}
      : {
          body: bodies(schema, schemas),
          contentType: oneIn(6, fc.constantFrom(...MEDIA_TYPES), fc.constant('application/json')),
        }),
  });
}

function oneIn<Value>(
  count: number,
  rare: Arbitrary<Value>,
  usual: Arbitrary<Value>,
): Arbitrary<Value> {
  return fc.oneof({ weight: 1, arbitrary: rare }, { weight: count - 1, arbitrary: usual });
}

/** No value, a valid one, one of the service, an invalid one, or two. */
function valuesOf(parameter: Parameter, schemas: Schemas): Arbitrary<ParameterValue[]> {
  const isPath = parameter.in === 'path';
  const valid = validValues(parameter, schemas);
  const invalid = invalidValues(parameter, schemas);
  return fc.oneof(
    { weight: isPath ? 0 : 4, arbitrary: NO_VALUE },
    { weight: 4, arbitrary: valid.map((value) => [value]) },
    { weight: 1, arbitrary: invalid.map((value): ParameterValue[] => [value]) },
    { weight: parameter.in === 'query' ? 1 : 0, arbitrary: fc.tuple(valid, valid) },
  );
}

function validValues({ name, schema }: Parameter, schemas: Schemas): Arbitrary<ParameterValue> {
  const issued = fc.nat(9).map((number): ParameterValue => ({ issued: number }));
  if (name === 'Prefer') return fc.constantFrom(...PREFERENCES);
  if (name === 'If-None-Match') return fc.constantFrom('"none"', 'W/"none", "other"', '*', 'junk');
  if (name === 'X-Request-Id') return fc.stringMatching(REQUEST_ID);
  const values = schemas.valid(schema).map(plainText);
  if (name === 'Idempotency-Key') return oneIn(9, fc.constantFrom(...IDEMPOTENCY_KEYS), values);
  if (name === 'cursor') {
    const invented = oneIn<ParameterValue>(2, fc.constant('last'), values);
    return oneIn<ParameterValue>(3, invented, issued);
  }
  return name === 'petId' ? oneIn<ParameterValue>(4, values, issued) : values;
}

function invalidValues({ name, in: place, schema }: Parameter, schemas: Schemas) {
  if (name === 'Idempotency-Key') return fc.constantFrom(...INVALID_IDEMPOTENCY_KEYS);
  // Any text is valid in the other headers, and an empty path segment is another path.
  if (place === 'header') return fc.constant('anything!');
  return schemas
    .invalid(schema)
    .map(plainText)
    .filter((text) => text.isWellFormed() && !(place === 'path' && text === ''))
    .filter((text) => !isValidText(schema, schemas, text));
}

/** Whether the text of a parameter is valid. Unlike in JSON, an integer has one form only. */
export function isValidText(schema: Schema, schemas: Schemas, text: string): boolean {
  const isInteger = schemas.resolve(schema).type === 'integer';
  if (isInteger && !/^(?:0|-?[1-9]\d*)$/.test(text)) return false;
  return schemas.findFault(schema, isInteger ? BigInt(text) : text) === undefined;
}

/** The text of a parameter: a string without its quotes. */
function plainText(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function bodies(schema: Schema, schemas: Schemas): Arbitrary<string> {
  const valid = schemas.valid(schema);
  const withUnknown = valid.map((text) => text.replace(/\}$/, ',"id":7,"colour":null}'));
  const otherForm = valid.map((text) => text.replace(/("categoryId":-?\d{1,15})\b/, '$1.0'));
  return fc.oneof(
    { weight: 20, arbitrary: valid },
    { weight: 2, arbitrary: withUnknown },
    { weight: 2, arbitrary: otherForm },
    { weight: 8, arbitrary: schemas.invalid(schema) },
    { weight: 2, arbitrary: fc.constantFrom(...BROKEN_BODIES) },
    { weight: 1, arbitrary: fc.constant(TOO_LARGE_BODY) },
  );
}

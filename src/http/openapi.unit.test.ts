import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS, INTERFACE_ERROR_CODES, type ErrorCode } from '../domain/errors.ts';
import { openApiDocument } from './openapi.ts';

interface Response {
  $ref?: string;
  headers: object;
  content?: Record<string, { schema: object; examples?: object }>;
}

interface Described {
  deprecated?: boolean;
  requestBody?: Response;
  responses: Record<string, Response>;
  parameters: { name: string; in: string }[];
}

const text = JSON.stringify(openApiDocument(), undefined, 2);
const document = JSON.parse(text) as {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Described>>;
  components: Record<string, Record<string, unknown>>;
};

test('openapi.json is the document that the service serves; npm run openapi updates it', () => {
  const kept = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
  assert.equal(kept, `${text}\n`);
});

test('the interface has three operations on two paths, and only getPet is deprecated', () => {
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { deprecated }]) => [method, path, deprecated ?? false]),
  );
  assert.deepEqual(listed, [
    ['get', '/pets', false],
    ['post', '/pets', false],
    ['get', '/pets/{petId}', true],
  ]);
  assert.match(document.openapi, /^3\.1\./);
});

/** A response of an operation, and the component that it refers to. */
function resolve(response: Response): Response {
  const name = response.$ref?.replace('#/components/responses/', '');
  return name === undefined ? response : (document.components['responses']?.[name] as Response);
}

/** Every response of every operation, with the key of its status. */
const listedResponses = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ responses }) => Object.entries(responses));

test('the servers are those that exist: the file has the URLs of the default settings, a service only itself', () => {
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    ['http://127.0.0.1:8080/v1', 'http://127.0.0.1:8090/v1'],
  );
  assert.doesNotMatch(text, /"variables"/);
  const { servers } = openApiDocument('https://pets.example/v1') as typeof document;
  assert.deepEqual(servers, [{ url: 'https://pets.example/v1', description: 'This service' }]);
});

test('every operation has the responses of the specification and one shared default', () => {
  const stated = {
    'get /pets': ['200', '401'],
    'post /pets': ['201', '400', '401'],
    'get /pets/{petId}': ['200', '401', '404'],
  };
  for (const [name, expected] of Object.entries(stated)) {
    const [method = '', path = ''] = name.split(' ');
    const responses = document.paths[path]?.[method]?.responses ?? {};
    assert.deepEqual(
      expected.filter((status) => !Object.hasOwn(responses, status)),
      [],
      name,
    );
    assert.deepEqual(responses['default'], { $ref: '#/components/responses/GeneralError' });
  }
  const general = resolve({ $ref: '#/components/responses/GeneralError', headers: {} });
  const codes = Object.keys(general.content?.['application/json']?.examples ?? {}) as ErrorCode[];
  assert.deepEqual(
    codes.map((code) => ERRORS[code].status),
    [408, 414, 417, 431, 500, 501, 505],
  );
});

test('everything has a description and every value an example, and no key begins with x-', () => {
  type Part = Record<string, unknown>;
  const { info, tags, components } = JSON.parse(text) as {
    info: Part;
    tags: Part[];
    components: Record<'schemas' | 'headers' | 'responses', Record<string, Part>>;
  };
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const bodies = [
    ...operations.flatMap(({ responses, requestBody }) => [
      ...(requestBody ? [requestBody] : []),
      ...Object.values(responses),
    ]),
    ...Object.values(components.responses),
  ] as { content?: Record<string, Part> }[];
  const fields = Object.values(components.schemas).flatMap(({ properties = {} }) =>
    Object.values(properties as Record<string, Part>),
  );
  const values = [
    ...Object.values(components.schemas),
    ...fields,
    ...Object.values(components.headers),
    ...operations.flatMap(({ parameters }) => parameters as unknown as Part[]),
  ];
  for (const part of [info, ...tags, ...operations, ...values, ...bodies]) {
    assertHas(part, ['description']);
  }
  for (const part of [...values, ...bodies.flatMap(({ content = {} }) => Object.values(content))]) {
    assertHas(part, ['example', 'examples']);
  }
  assert.ok('contact' in info && 'license' in info && tags.length === 1);
  assert.doesNotMatch(text, /^ *"x-/m);
});

/** A reference has the description and the example of its target. */
function assertHas(part: object, fields: string[]): void {
  const isComplete = ['$ref', ...fields].some((field) => field in part);
  assert.ok(isComplete, `no ${fields[0]}: ${JSON.stringify(part)}`);
}

test('no optional field has a default, because generators make such a field required', () => {
  const { NewPet } = document.components['schemas'] as Record<
    string,
    { required: string[]; properties: Record<string, object> }
  >;
  assert.deepEqual(NewPet?.required, ['name', 'categoryId']);
  assert.deepEqual(NewPet?.properties['status'], {
    $ref: '#/components/schemas/PetStatus',
    description: 'Availability status. Default: `available`.',
  });
});

test('every reference has a target', () => {
  const references = [...text.matchAll(/"\$ref": "([^"]*)"/g)].map(([, to = '']) => to);
  assert.ok(references.length > 0);
  for (const reference of references) {
    const [, group = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(reference) ?? [];
    assert.ok(document.components[group]?.[name], reference);
  }
});

test('int64 values are integers of format int64, and the document does not mention bigint', () => {
  assert.doesNotMatch(text, /bigint/);
  const { Pet } = document.components['schemas'] as Record<
    string,
    { properties: Record<string, object> }
  >;
  assert.partialDeepStrictEqual(Pet?.properties['id'], { type: 'integer', format: 'int64' });
});

test('every error response has the Error body with an example of each of its codes', () => {
  const shown = new Set<string>();
  for (const [status, response] of listedResponses) {
    if (Number(status) < 400) continue;
    const json = resolve(response).content?.['application/json'];
    assert.deepEqual(json?.schema, { $ref: '#/components/schemas/Error' });
    for (const code of Object.keys(json?.examples ?? {})) {
      const isListed = status !== 'default';
      if (isListed) assert.equal(String(ERRORS[code as ErrorCode].status), status);
      shown.add(code);
    }
  }
  // No operation has these two: the path or the method does not exist.
  const expected = INTERFACE_ERROR_CODES.filter(
    (code) => code !== 'route_not_found' && code !== 'method_not_allowed',
  );
  assert.deepEqual([...shown].toSorted(), expected.toSorted());
});

test('every engine understands the patterns: none has \\u, and a name may have an emoji but not U+0000', () => {
  const patterns = [...text.matchAll(/"pattern": (".*")/g)].map(
    ([, pattern = '']) => JSON.parse(pattern) as string,
  );
  assert.ok(patterns.length >= 4);
  for (const pattern of patterns) assert.doesNotMatch(pattern, /\\u/);
  const { NewPet } = document.components['schemas'] as Record<
    string,
    { properties: Record<string, { pattern: string }> }
  >;
  const { pattern = '' } = NewPet?.properties['name'] ?? {};
  for (const flags of ['', 'u', 'v']) {
    assert.match('Rex 🐶\n', new RegExp(pattern, flags));
    assert.doesNotMatch('Rex\0', new RegExp(pattern, flags));
  }
});

test('a code is an open string: the known codes are examples, and the description says that more may follow', () => {
  const { ErrorCode, Error: body } = document.components['schemas'] as Record<
    string,
    { properties?: Record<string, object>; examples: string[]; description: string; type: string }
  >;
  assert.deepEqual(body?.properties?.['code'], { $ref: '#/components/schemas/ErrorCode' });
  assert.equal(ErrorCode?.type, 'string');
  assert.ok(!Object.hasOwn(ErrorCode ?? {}, 'enum'));
  assert.deepEqual(ErrorCode?.examples, INTERFACE_ERROR_CODES);
  assert.match(ErrorCode?.description ?? '', /more may follow/);
});

test('a response describes only the headers that are sent with its status', () => {
  for (const [status, response] of listedResponses) {
    const names = Object.keys(resolve(response).headers);
    assert.equal(names.includes('RateLimit'), !['401', 'default'].includes(status), status);
    assert.equal(names.includes('RateLimit-Policy'), names.includes('RateLimit'), status);
    const isBefore = ['401', '403', '410', '429', 'default'].includes(status);
    assert.equal(names.includes('Preference-Applied'), !isBefore, status);
  }
});

test('401, 403, 429 and 503 are described once, and once more for the deprecated operation', () => {
  const names = ['Unauthorized', 'Forbidden', 'TooManyRequests', 'ServiceUnavailable'];
  const deprecated = names.map((name) => `Deprecated${name}`);
  assert.deepEqual(Object.keys(document.components['responses'] ?? {}), [
    'GeneralError',
    ...names,
    ...deprecated,
  ]);
  for (const [path, method] of [
    ['/pets', 'get'],
    ['/pets', 'post'],
    ['/pets/{petId}', 'get'],
  ] as const) {
    const { responses, deprecated: isDeprecated } = document.paths[path]?.[method] ?? {};
    const expected = isDeprecated === true ? deprecated : names;
    for (const [index, status] of ['401', '403', '429', '503'].entries()) {
      const response = responses?.[status];
      assert.deepEqual(response, { $ref: `#/components/responses/${expected[index]}` });
      if (response === undefined) continue;
      assert.equal('Sunset' in resolve(response).headers, isDeprecated === true);
    }
  }
});

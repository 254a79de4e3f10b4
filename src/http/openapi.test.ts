import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { openApiDocument } from './openapi.ts';

interface Response {
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

test('the servers are those that exist: the file has both as variables, a service only itself', () => {
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    ['{base_url}', '{staging_base_url}'],
  );
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
  const general = document.components['responses']?.['GeneralError'] as Response;
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
  const listed = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => Object.entries(responses));
  const general = Object.entries(document.components['responses'] as Record<string, Response>);
  for (const [status, { content }] of [...listed, ...general]) {
    if (Number(status) < 400 || status === 'default') continue;
    const json = content?.['application/json'];
    assert.deepEqual(json?.schema, { $ref: '#/components/schemas/Error' });
    for (const code of Object.keys(json?.examples ?? {})) {
      const isListed = status !== 'GeneralError';
      if (isListed) assert.equal(String(ERRORS[code as ErrorCode].status), status);
      shown.add(code);
    }
  }
  // No operation has these two: the path or the method does not exist.
  const expected = Object.keys(ERRORS).filter(
    (code) => code !== 'route_not_found' && code !== 'method_not_allowed',
  );
  assert.deepEqual([...shown].toSorted(), expected.toSorted());
});

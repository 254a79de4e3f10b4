import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERRORS, type ErrorCode } from '../domain/errors.ts';
import { openApiDocument } from './openapi.ts';

interface Described {
  deprecated?: boolean;
  responses: Record<
    string,
    { headers: object; content?: Record<string, { schema: object; examples?: object }> }
  >;
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
  assert.equal(document.servers.length, 2);
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
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, { content }] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        const json = content?.['application/json'];
        assert.deepEqual(json?.schema, { $ref: '#/components/schemas/Error' });
        for (const code of Object.keys(json?.examples ?? {})) {
          assert.equal(String(ERRORS[code as ErrorCode].status), status);
          shown.add(code);
        }
      }
    }
  }
  // No operation has these two: the path or the method matches none.
  const expected = Object.keys(ERRORS).filter(
    (code) => code !== 'route_not_found' && code !== 'method_not_allowed',
  );
  assert.deepEqual([...shown].toSorted(), expected.toSorted());
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson, readPet, stringify, toInt64, writeNewPet } from './json.ts';

const EXTREMES = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 0n, -1n];

test('parsing keeps every digit of an integer', () => {
  for (const value of EXTREMES) {
    assert.deepEqual(parseJson(`{"id": ${value} }`), { id: value });
  }
});

test('parsing reads 1.0 and 1e2 as integers', () => {
  const text = '[1.0,-2.50e1,1e2,9223372036854775807.0,0e99,1.5,1.00000000000000000001,1e30]';
  assert.deepEqual(parseJson(text), [1n, -25n, 100n, 2n ** 63n - 1n, 0, 1.5, 1, 1e30]);
  assert.deepEqual(parseJson('[3.000,1.25e2,4E+18,1e19]'), [3n, 125n, 4n * 10n ** 18n, 1e19]);
});

test('parsing reads a number of more than 100 characters as any other program does', () => {
  const longest = 10n ** 99n;
  assert.deepEqual(parseJson(`[${longest},${longest}0]`), [longest, 1e100]);
  assert.equal(parseJson('9'.repeat(1_000_000)), Number.POSITIVE_INFINITY);
});

test('parsing leaves strings, keys and other numbers unchanged', () => {
  const text = String.raw`{"1" : "1","a":[1.5,1e-3,-0.25],"b \" 2:3":"\\","#":"#4","'":"' \u0022: 5","":null}`;
  assert.deepEqual(parseJson(text), {
    1: '1',
    a: [1.5, 0.001, -0.25],
    'b " 2:3': '\\',
    '#': '#4',
    "'": `' ": 5`,
    '': null,
  });
});

test('parsing refuses what is not JSON', () => {
  for (const text of ['', '01', '{"a":1', '1 2', '"', '<html>', '[1,]', "{'a':1}"]) {
    assert.throws(() => parseJson(text), SyntaxError, text);
  }
});

test('parsing agrees with JSON.parse on any JSON, once its integers are rounded', () => {
  const layout = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(fc.jsonValue(), layout, (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const rounded = JSON.stringify(parseJson(text), (_key, part: unknown) =>
        typeof part === 'bigint' ? Number(part) : part,
      );
      assert.deepStrictEqual(JSON.parse(rounded), JSON.parse(text));
    }),
  );
});

test('any int64 is written exactly, and read back as it was', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      (name, categoryId) => {
        const body = writeNewPet({ name, categoryId, status: 'sold' });
        assert.deepEqual(parseJson(body), { name, categoryId, status: 'sold' });
        assert.ok(body.includes(`"categoryId":${categoryId},`));
      },
    ),
  );
});

test('a number that JavaScript may have rounded is a TypeError that names the field', () => {
  for (const value of [
    2 ** 53,
    -(2 ** 53),
    1.5,
    Number.NaN,
    Infinity,
    2n ** 63n,
    -(2n ** 63n) - 1n,
  ]) {
    assert.throws(() => toInt64(value, 'categoryId'), {
      name: 'TypeError',
      message: `categoryId must be a safe integer or an int64 as a bigint, not ${value}.`,
    });
  }
  assert.equal(toInt64(2 ** 53 - 1, 'id'), 9007199254740991n);
});

test('a name that is not a string is a TypeError', () => {
  for (const name of [undefined, 7, null]) {
    assert.throws(() => writeNewPet({ name: name as unknown as string, categoryId: 7 }), {
      name: 'TypeError',
      message: 'name must be a string.',
    });
  }
});

test('a Pet has its four fields and no others, whatever the response adds', () => {
  const pet = { id: 1n, name: 'Rex', categoryId: 7n, status: 'available' };
  assert.deepEqual(readPet({ ...pet, colour: 'brown' }), pet);
});

test('stringify writes every bigint of a value as a number with all its digits', () => {
  const pet = readPet({ id: 2n ** 63n - 1n, name: 'Rex', categoryId: 7n, status: 'sold' });
  const text = '{"id":9223372036854775807,"name":"Rex","categoryId":7,"status":"sold"}';
  assert.equal(stringify(pet), text);
  assert.equal(stringify({ ...pet }), text);
  assert.equal(
    stringify({ order: 5n, pets: [structuredClone({ ...pet })], at: new Date(0) }),
    `{"order":5,"pets":[${text}],"at":"1970-01-01T00:00:00.000Z"}`,
  );
  assert.equal(stringify({ id: -(2n ** 63n) }, 1), '{\n "id": -9223372036854775808\n}');
});

test('without JSON.rawJSON, an id that a number would round is written as a string', (t) => {
  const { rawJSON } = JSON as { rawJSON?: unknown };
  t.after(() => Object.assign(JSON, { rawJSON }));
  Object.assign(JSON, { rawJSON: undefined });
  const pet = readPet({ id: 2n ** 53n, name: 'Rex', categoryId: 2n ** 53n - 1n, status: 'sold' });
  assert.equal(
    JSON.stringify(pet),
    '{"id":"9007199254740992","name":"Rex","categoryId":9007199254740991,"status":"sold"}',
  );
});

test('what is not a Pet is refused', () => {
  const pet = { id: 1n, name: 'Rex', categoryId: 7n, status: 'available' };
  for (const wrong of [
    null,
    7n,
    'Rex',
    [],
    { ...pet, id: 1.5 },
    { ...pet, id: '1' },
    { ...pet, name: 1n },
    { ...pet, status: 'gone' },
    { ...pet, categoryId: 2n ** 63n },
  ]) {
    assert.throws(() => readPet(wrong), TypeError);
  }
});

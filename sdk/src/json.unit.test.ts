import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson, readPet, stringify, toInt64, writeNewPet } from './json.ts';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const PET = { id: 1n, name: 'Rex', categoryId: 7n, status: 'available' };

test('parsing keeps every digit of an integer, and reads any other JSON as it is', () => {
  const longest = 10n ** 99n;
  for (const [text, value] of [
    [`{"id": ${INT64_MAX} }`, { id: INT64_MAX }],
    [`[${INT64_MIN},${2n ** 53n + 1n},0,-1]`, [INT64_MIN, 2n ** 53n + 1n, 0n, -1n]],
    // 1.0 and 1e2 are integers.
    ['[1.0,-2.50e1,1e2,3.000,1.25e2]', [1n, -25n, 100n, 3n, 125n]],
    ['[9223372036854775807.0,4E+18]', [INT64_MAX, 4n * 10n ** 18n]],
    ['[0e99,1.5,1.00000000000000000001,1e30,1e19]', [0, 1.5, 1, 1e30, 1e19]],
    // A number of more than 100 characters is read as any other program reads it.
    [`[${longest},${longest}0]`, [longest, 1e100]],
    ['9'.repeat(1_000_000), Number.POSITIVE_INFINITY],
    [
      String.raw`{"1" : "1","a":[1.5,1e-3,-0.25],"b \" 2:3":"\\","#":"#4","'":"' \u0022: 5","":null}`,
      { 1: '1', a: [1.5, 0.001, -0.25], 'b " 2:3': '\\', '#': '#4', "'": `' ": 5`, '': null },
    ],
  ] as const) {
    assert.deepEqual(parseJson(text), value, text.slice(0, 50));
  }
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
  const name = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(name, fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), (text, categoryId) => {
      const body = writeNewPet({ name: text, categoryId, status: 'sold' });
      assert.deepEqual(parseJson(body), { name: text, categoryId, status: 'sold' });
      assert.ok(body.includes(`"categoryId":${categoryId},`));
    }),
  );
});

test('a number that JavaScript may have rounded, or a name that is no string, is a TypeError', () => {
  const rounded = [2 ** 53, -(2 ** 53), 1.5, Number.NaN, Infinity, INT64_MAX + 1n, INT64_MIN - 1n];
  for (const value of rounded) {
    assert.throws(() => toInt64(value, 'categoryId'), {
      name: 'TypeError',
      message: `categoryId must be a safe integer or an int64 as a bigint, not ${value}.`,
    });
  }
  assert.equal(toInt64(2 ** 53 - 1, 'id'), 9007199254740991n);
  for (const name of [undefined, 7, null]) {
    assert.throws(() => writeNewPet({ name: name as unknown as string, categoryId: 7 }), {
      name: 'TypeError',
      message: 'name must be a string.',
    });
  }
});

test('a Pet has its four fields and no others, whatever the response adds, and nothing else is a Pet', () => {
  assert.deepEqual(readPet({ ...PET, colour: 'brown' }), PET);
  const tooLarge = { categoryId: INT64_MAX + 1n };
  for (const wrong of [{ id: 1.5 }, { id: '1' }, { name: 1n }, { status: 'gone' }, tooLarge]) {
    assert.throws(() => readPet({ ...PET, ...wrong }), TypeError);
  }
  for (const wrong of [null, 7n, 'Rex', []]) assert.throws(() => readPet(wrong), TypeError);
});

test('stringify writes every bigint of a value as a number with all its digits', (t) => {
  const pet = readPet({ ...PET, id: INT64_MAX });
  const text = `{"id":${INT64_MAX},"name":"Rex","categoryId":7,"status":"available"}`;
  assert.deepEqual(
    [stringify(pet), stringify({ ...pet }), JSON.stringify(pet)],
    [text, text, text],
  );
  assert.equal(
    stringify({ order: 5n, pets: [structuredClone({ ...pet })], at: new Date(0) }),
    `{"order":5,"pets":[${text}],"at":"1970-01-01T00:00:00.000Z"}`,
  );
  assert.equal(stringify({ id: INT64_MIN }, 1), `{\n "id": ${INT64_MIN}\n}`);

  // Without JSON.rawJSON, what a number would round is written as a string.
  const { rawJSON } = JSON as { rawJSON?: unknown };
  t.after(() => Object.assign(JSON, { rawJSON }));
  Object.assign(JSON, { rawJSON: undefined });
  assert.equal(
    JSON.stringify(readPet({ ...PET, id: 2n ** 53n, categoryId: 2n ** 53n - 1n })),
    '{"id":"9007199254740992","name":"Rex","categoryId":9007199254740991,"status":"available"}',
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonFault } from './json-fault.ts';

function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return jsonFault(error as SyntaxError);
  }
}

const EXAMPLE = 'send an object such as {"name":"Rex","categoryId":7}';

test('canary: the messages of V8 that name a place have this form', () => {
  for (const [text, fault] of [
    [`{'name':'Rex'}`, `at line 1, column 2: expected property name or '}'`],
    [`{name:"Rex"}`, `at line 1, column 2: expected property name or '}'`],
    [`{"name":"Rex",}`, 'at line 1, column 15: expected double-quoted property name'],
    [`{"name" "Rex"}`, `at line 1, column 9: expected ':' after property name`],
    [`{"a":1\n "b":7}`, `at line 2, column 2: expected ',' or '}' after property value`],
    [`[1 2]`, `at line 1, column 4: expected ',' or ']' after array element`],
    [`{"name":"Rex`, 'at line 1, column 13: unterminated string'],
    [`{"name":"Re\nx"}`, 'at line 1, column 12: bad control character in string literal'],
    [String.raw`{"name":"C:\Rex"}`, 'at line 1, column 13: bad escaped character'],
    [String.raw`{"name":"\u12"}`, 'at line 1, column 14: bad Unicode escape'],
    [`{}{}`, 'at line 1, column 3: unexpected non-whitespace character after JSON'],
    [`01`, 'at line 1, column 2: unexpected number'],
    [`{"categoryId":-}`, 'at line 1, column 16: no number after minus sign'],
    [`{"categoryId":1.}`, 'at line 1, column 17: unterminated fractional number'],
    [`{"categoryId":1e}`, 'at line 1, column 17: exponent part is missing a number'],
  ] as const) {
    assert.equal(faultOf(text), `The body is not valid JSON ${fault}.`, text);
  }
});

test('where V8 names no place, the message has a right body, or says that the text ends too early', () => {
  for (const text of [`{"name":'Rex'}`, `[1,]`, `{"name":Rex}`, 'name=Rex&categoryId=7', 'NaN']) {
    assert.equal(faultOf(text), `The body is not valid JSON: ${EXAMPLE}.`, text);
  }
  for (const text of [' ', '[', '{"a":"\\']) {
    assert.equal(faultOf(text), 'The body is not valid JSON: it ends too early.', text);
  }
});

test('a message repeats nothing of the text', () => {
  const secret = 'geheim';
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '1',
    '-',
    '.',
    ' ',
    '\n',
    secret,
    ' at ',
  ];
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 8 });
  fc.assert(
    fc.property(texts, (parts) => {
      assert.ok(!String(faultOf(parts.join(''))).includes(secret));
    }),
    { numRuns: 2_000 },
  );
});

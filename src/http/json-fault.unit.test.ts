import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findJsonFault } from './json-fault.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const FAULTS: [text: string, line: number, column: number, remedy: RegExp][] = [
  [`{'name':'Rex'}`, 1, 2, /^use double quotes instead of single quotes$/],
  [`{"name":'Rex'}`, 1, 9, /single quotes/],
  [`'{"name":"Rex"}'`, 1, 1, /single quotes/],
  [`{“name”:"Rex"}`, 1, 2, /^use straight double quotes$/],
  [`{"name":"Rex",}`, 1, 15, /^remove the comma before the closing }$/],
  [`[1,]`, 1, 4, /^remove the comma before the closing ]$/],
  [`{name:"Rex"}`, 1, 2, /^write the name of a field in double quotes$/],
  [`{"name":"Rex",categoryId:7}`, 1, 15, /^write the name of a field/],
  [`{"name":Rex}`, 1, 9, /^a value must be a text in double quotes/],
  [`{"name":"Rex","categoryId":}`, 1, 28, /^a value must be/],
  [`name=Rex&categoryId=7`, 1, 1, /^this is a form; send JSON/],
  [`{"name":"Rex"\n "categoryId":7}`, 2, 2, /^a comma or the closing } is missing$/],
  [`{"name" "Rex"}`, 1, 9, /^a colon must follow the name of a field$/],
  [`{"name":"Rex","categoryId":7`, 1, 29, /^the closing } is missing$/],
  [`{"name":"Rex`, 1, 13, /^a closing double quote is missing$/],
  [`{"name":"Re\nx"}`, 1, 12, /^write a line break in a string as \\n/],
  [String.raw`{"name":"C:\Rex"}`, 1, 12, /^write a backslash in a string as \\\\$/],
  [`{}{}`, 1, 3, /^remove what follows the end/],
  [`{"a":1} // Rex`, 1, 9, /^remove the comment$/],
  [` `, 1, 2, /^send one JSON object$/],
  [`{\r\n\r"🐕🐕":x`, 3, 6, /^a value must be/],
  [`01`, 1, 2, /^remove what follows/],
];

test('the first fault of a JSON text has its line, its column and a remedy', () => {
  for (const [text, line, column, remedy] of FAULTS) {
    const fault = findJsonFault(text);
    assert.deepEqual([fault?.line, fault?.column], [line, column], text);
    assert.match(fault?.remedy ?? '', remedy, text);
  }
});

test('a text has a fault exactly if JSON.parse refuses it', () => {
  const pieces =
    '{ } [ ] : , " "a" \\ \\u00e9 1 - . e 0 + true null x \' / {"a":1} \n \t \u0001 \u2028'.split(
      ' ',
    );
  const piece = fc.constantFrom(' ', ...pieces);
  const broken = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
  // Most random texts fail at once, so a part of a valid one is replaced too.
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.nat({ max: 2 }), broken)
    .map(([json, at, removed, put]) => {
      const start = at % (json.length + 1);
      return json.slice(0, start) + put + json.slice(start + removed);
    });
  fc.assert(
    fc.property(fc.oneof(broken, mutated, fc.json()), (text) => {
      assert.equal(findJsonFault(text) === undefined, isJson(text), text);
    }),
    { numRuns: 2_000 },
  );
});

test('the deepest and the longest text that a body can hold is checked to its end', () => {
  const bytes = 64 * 1024;
  assert.equal(findJsonFault('['.repeat(bytes))?.column, bytes + 1);
  assert.equal(findJsonFault(`"${'x'.repeat(bytes - 1)}`)?.column, bytes + 1);
  assert.equal(findJsonFault(`"${String.raw`\\`.repeat(bytes / 2)}`)?.column, bytes + 2);
});

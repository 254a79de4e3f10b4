import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { printable } from './printable.ts';

test('characters that nobody sees, or that move others, are shown as escapes', () => {
  for (const [text, shown] of [
    ['Rex\u200b', String.raw`Rex\u200b`],
    ['\u3164', String.raw`\u3164`],
    ['Rex\u{e0041}', String.raw`Rex\udb40\udc41`],
    ['R\u00adex\u2060', String.raw`R\u00adex\u2060`],
    ['\u2800', String.raw`\u2800`],
    ['\u202exeR\u2069', String.raw`\u202exeR\u2069`],
    ['a\u001b[31m\u2028b\u2029\n', String.raw`a\u001b[31m\u2028b\u2029\u000a`],
    ['\ud800', String.raw`\ud800`],
  ] as const) {
    assert.equal(printable(text), shown);
  }
});

test('what can be seen stays as it is, also an emoji of several characters', () => {
  const flag = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}';
  for (const text of ['Rex', 'Zoë', 'é', '猫 犬', 'שלום', '❤️', '👨‍👩‍👧', '1️⃣', flag]) {
    assert.equal(printable(text), text);
  }
});

test('JSON stays JSON with the same values', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      assert.equal(JSON.parse(printable(JSON.stringify(text))), text);
    }),
  );
});

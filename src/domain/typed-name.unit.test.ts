import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBlank, trimName } from './typed-name.ts';

test('a name is blank if nobody can see it, and only the space around it is removed', () => {
  for (const text of [
    '',
    ' ',
    '\t\n',
    '\u00a0',
    '\u200b',
    '\ufeff',
    '\u3164',
    '\u00ad',
    '\u2800',
    '\0',
  ]) {
    assert.equal(isBlank(text), true, JSON.stringify(text));
  }
  for (const text of ['.', ' x ', '🦊', 'é', '\u0301', '\ue000', '\u200bRex']) {
    assert.equal(isBlank(text), false, JSON.stringify(text));
  }
  assert.equal(trimName('\u00a0 Rex  the dog\r\n'), 'Rex  the dog');
  assert.equal(trimName('\t\t=1+1 '), '\t\t=1+1', 'these tabs keep a spreadsheet from running it');
  assert.equal(trimName('\tRex'), 'Rex');
});

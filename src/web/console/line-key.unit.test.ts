import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../harness/any-character.ts';
import { lineKey, newOccurrenceCounter } from './page/line-key.ts';
import { readRows } from './page/many-rows.ts';
import { sha256 } from './page/sha256.ts';

function check(text: string): void {
  assert.equal(sha256(text), createHash('sha256').update(text).digest('hex'));
}

test('the hash of the page is SHA-256, for texts of every length', () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 300 });
  const lengths = Array.from({ length: 130 }, (_, length) => 'x'.repeat(length));
  for (const each of lengths) check(each);
  fc.assert(fc.property(text, check));
});

const keysOf = (text: string) => readRows(text).rows.map((row) => row.idempotencyKey);

test('D45: the key of a line follows from what it says, and correcting one line changes no other key', () => {
  const [rex, tom, ada, tomAgain] = keysOf('name,category\nRex,7\nTom,8\nAda,9\nTom,8\n');
  assert.match(rex ?? '', /^[0-9a-f]{32}$/);
  assert.equal(new Set([rex, tom, ada, tomAgain]).size, 4, 'identical lines are counted');
  const corrected = keysOf('Status;Category;Name\n;7;Rex\navailable;8; Tom \n;10;Ada\n;8;Tom\n');
  assert.deepEqual([corrected[0], corrected[1], corrected[3]], [rex, tom, tomAgain]);
  assert.notEqual(corrected[2], ada);
  const json = '[{"name":"Rex","categoryId":7},{"name":"Tom","categoryId":8,"status":"available"}]';
  assert.deepEqual(keysOf(json), [rex, tom]);
});

test('D45: other values, another number among identical lines or another repetition is another key', () => {
  const pet = { name: 'Rex', categoryId: 7n, status: 'sold' } as const;
  const keys = [
    lineKey(pet, 1, 0),
    lineKey(pet, 2, 0),
    lineKey(pet, 1, 1),
    lineKey({ ...pet, name: 'Rex"' }, 1, 0),
    lineKey({ ...pet, categoryId: 8n }, 1, 0),
    lineKey({ ...pet, status: 'pending' }, 1, 0),
    lineKey({ ...pet, name: 'Rex","7' }, 1, 0),
  ];
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(lineKey({ ...pet, categoryId: 7 }, 1, 0), keys[0]);
});

test('a line without a status and one with the default are identical', () => {
  const count = newOccurrenceCounter();
  const rex = { name: 'Rex', categoryId: 7n };
  assert.deepEqual([count(rex), count({ ...rex, status: 'available' })], [1, 2]);
});

test('identical lines are numbered from 1, whatever is between them', () => {
  const count = newOccurrenceCounter();
  const [rex, tom] = ['Rex', 'Tom'].map((name) => ({ name, categoryId: 7n }));
  assert.ok(rex !== undefined && tom !== undefined);
  assert.deepEqual(
    [count(rex), count(tom), count(rex), count({ ...rex, status: 'sold' })],
    [1, 1, 2, 1],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { Refusal } from './errors.ts';
import { INT64_MAX } from './int64.ts';
import { CURSOR_LENGTH_MAX, newCursor, parseCursor, parsePageRequest } from './page.ts';
import { PET_STATUSES } from './pet.ts';

const filters = fc.constantFrom(undefined, ...PET_STATUSES);
const ids = fc.bigInt(0n, INT64_MAX);
const directions = fc.constantFrom('forward', 'backward');
const isRefused = (parsed: unknown) =>
  parsed instanceof Refusal && parsed.code === 'invalid_cursor';

test('a cursor contains its id and its direction, is URL-safe and has at most 64 characters', () => {
  fc.assert(
    fc.property(ids, filters, directions, (id, status, direction) => {
      const cursor = newCursor(id, status, direction);
      assert.match(cursor, /^[\w-]+$/);
      assert.ok(cursor.length <= CURSOR_LENGTH_MAX);
      const position = direction === 'forward' ? { afterId: id } : { upToId: id };
      assert.deepEqual(parseCursor(cursor, status), position);
    }),
  );
});

test('a cursor of version 1.0.0 stays valid', () => {
  assert.deepEqual(parseCursor('AAAAAAAAAAAU_NPA0w', undefined), { afterId: 20n });
  assert.deepEqual(parseCursor('AX__________5i-FQg', 'available'), { afterId: INT64_MAX });
  assert.deepEqual(parseCursor('AgAAAAAAAAABv_gMvg', 'pending'), { afterId: 1n });
  assert.deepEqual(parseCursor('AwAAAAAAAAAHQeC9yA', 'sold'), { afterId: 7n });
});

test('the cursor of the last page is "last" with every filter', () => {
  for (const status of [undefined, ...PET_STATUSES]) {
    assert.deepEqual(parseCursor('last', status), { upToId: INT64_MAX });
  }
});

test('a cursor is refused with a different status filter', () => {
  fc.assert(
    fc.property(ids, filters, filters, directions, (id, made, used, direction) => {
      fc.pre(made !== used);
      assert.ok(isRefused(parseCursor(newCursor(id, made, direction), used)));
    }),
  );
});

test('a cursor with one character changed, added or removed is refused', () => {
  fc.assert(
    fc.property(
      ids,
      filters,
      directions,
      fc.nat(),
      fc.constantFrom('A', 'b', '9', '-', '=', ' ', ''),
      (id, status, direction, at, put) => {
        const cursor = newCursor(id, status, direction);
        const place = at % cursor.length;
        const changed = cursor.slice(0, place) + put + cursor.slice(place + 1);
        fc.pre(changed !== cursor);
        assert.ok(isRefused(parseCursor(changed, status)));
      },
    ),
  );
});

test('any other text is refused as a cursor', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), filters, (text, status) => {
      assert.ok(isRefused(parseCursor(text, status)));
    }),
  );
});

test('limit accepts exactly the integers 1 to 100, and the error for anything else names limit', () => {
  for (let limit = 1; limit <= 100; limit += 1) {
    const parameters = new Map([['limit', [String(limit)]]]);
    assert.equal(parsePageRequest(parameters).limit, limit);
  }
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)),
      (text) => {
        fc.pre(!/^([1-9]\d?|100)$/.test(text));
        const parameters = new Map([['limit', [text]]]);
        assert.throws(() => parsePageRequest(parameters), /limit must be an integer from 1 to 100/);
      },
    ),
  );
});

test('without parameters the page is the first 20 animals', () => {
  assert.deepEqual(parsePageRequest(new Map()), { limit: 20, status: undefined, afterId: 0n });
});

test('one Refusal names every faulty parameter; invalid_cursor only if nothing but the cursor is wrong', () => {
  const soldCursor = newCursor(7n, 'sold');
  const limit = /^limit must be an integer from 1 to 100\.$/;
  const isUnknown = 'Unknown query parameters: page; this operation has limit, status, cursor.';
  for (const [query, code, named, isStrict] of [
    ['limit=0&status=Sold&cursor=x', 'invalid_parameter', /^limit .*\. status .*\. cursor is not /],
    ['status=sold&cursor=x&limit=0', 'invalid_parameter', /^limit .*\. cursor is not valid/],
    ['cursor=x', 'invalid_cursor', /^cursor is not valid/],
    ['limit=5&limit=6&status=', 'invalid_parameter', /^limit was given twice.*\. status must/],
    // Which status the cursor is for can be said only once there is a status.
    [
      `limit=0&status=Sold&cursor=${soldCursor}`,
      'invalid_parameter',
      /^limit .*\. status [^.]*\.$/,
    ],
    [`status=sold&status=sold&cursor=${soldCursor}`, 'invalid_parameter', /^status [^.]*\.$/],
    [`limit=0&cursor=${soldCursor}`, 'invalid_parameter', /^limit .*\. cursor is for a different/],
    ['cursor=x', 'unknown_parameter', /^cursor is not .* Unknown query parameters: page;/, true],
    ['limit=0', 'invalid_parameter', /^limit .*\. Unknown query parameters: page;/, true],
    ['limit=0', 'invalid_parameter', limit],
  ] as const) {
    const values = Map.groupBy(new URLSearchParams(query), ([name]) => name);
    const texts = new Map(
      [...values].map(([name, pairs]) => [name, pairs.map(([, text]) => text)]),
    );
    const other = isStrict === true ? new Refusal('unknown_parameter', isUnknown) : undefined;
    assert.throws(() => parsePageRequest(texts, other), { code, message: named }, query);
  }
});

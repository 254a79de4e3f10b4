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
const isRefusal = (error: unknown) => error instanceof Refusal && error.code === 'invalid_cursor';

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
      assert.throws(() => parseCursor(newCursor(id, made, direction), used), isRefusal);
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
        assert.throws(() => parseCursor(changed, status), isRefusal);
      },
    ),
  );
});

test('any other text is refused as a cursor', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), filters, (text, status) => {
      assert.throws(() => parseCursor(text, status), isRefusal);
    }),
  );
});

test('limit accepts exactly the integers 1 to 100, and the error for anything else names limit', () => {
  for (let limit = 1; limit <= 100; limit += 1) {
    const parameters = { limit: String(limit), status: undefined, cursor: undefined };
    assert.equal(parsePageRequest(parameters).limit, limit);
  }
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.integer().map(String), fc.double().map(String)),
      (text) => {
        fc.pre(!/^([1-9]\d?|100)$/.test(text));
        const parameters = { limit: text, status: undefined, cursor: undefined };
        assert.throws(() => parsePageRequest(parameters), /limit must be an integer from 1 to 100/);
      },
    ),
  );
});

test('without parameters the page is the first 20 animals', () => {
  const nothing = { limit: undefined, status: undefined, cursor: undefined };
  assert.deepEqual(parsePageRequest(nothing), { limit: 20, status: undefined, afterId: 0n });
});

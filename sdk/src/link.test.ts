import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLink, nextCursor } from './link.ts';

const BASE_URL = 'https://pets.example/v1';
const header = (link: string): Headers => new Headers({ link });

test('the next page is found among other links, however they are written', () => {
  for (const link of [
    '<https://pets.example/v1/pets?limit=2&cursor=abc>; rel="next"',
    '<https://pets.example/v1/pets>; rel="first", <https://pets.example/v1/pets?cursor=abc>; rel="next"',
    '<https://pets.example/v1/pets?cursor=abc>;rel=next,<https://pets.example/v1/pets>;rel=first',
    '<https://pets.example/v1/pets?cursor=abc> ; title="a, b; <c>" ; REL="prefetch NEXT"',
    '</v1/pets?cursor=abc>; rel="next"',
    '<?cursor=abc>; rel="next"; crossorigin',
  ]) {
    assert.equal(nextCursor(header(link), BASE_URL), 'abc', link);
  }
});

test('a page without a link to the next is the last', () => {
  for (const link of [
    '',
    '<https://pets.example/v1/pets?cursor=abc>; rel="first"',
    'rel="next"',
    '<a>; title="next"',
    '<a>; rel="nextcloud"',
  ]) {
    assert.equal(nextCursor(header(link), BASE_URL), undefined, link);
  }
  assert.equal(nextCursor(new Headers(), BASE_URL), undefined);
});

test('a link to the next page that names no cursor is a fault, not the end of the list', () => {
  assert.throws(() =>
    nextCursor(header('<https://pets.example/v1/pets?page=2>; rel="next"'), BASE_URL),
  );
});

test('a long hostile header is read in no time', () => {
  assert.equal(findLink(header(`<${'<;a="'.repeat(4000)}`), 'next'), undefined);
  assert.equal(findLink(header(`<a>${' ; a = "b"'.repeat(2000)} ; "`), 'next'), undefined);
});

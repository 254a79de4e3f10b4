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

test('a page without a next link is the last page', () => {
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

test('a next link without a cursor is an error, not the end of the list', () => {
  assert.throws(() =>
    nextCursor(header('<https://pets.example/v1/pets?page=2>; rel="next"'), BASE_URL),
  );
});

test('a long hostile header is parsed quickly', () => {
  assert.equal(findLink(header(`<${'<;a="'.repeat(4000)}`), 'next'), undefined);
  assert.equal(findLink(header(`<a>${' ; a = "b"'.repeat(2000)} ; "`), 'next'), undefined);
});

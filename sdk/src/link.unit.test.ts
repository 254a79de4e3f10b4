import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCursor, findLink } from './link.ts';

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
    '<?cursor=abc>; crossorigin; rel = "next"',
    // The rest of a link is not used, so that the key goes to no other origin.
    '<https://stranger.example/v1/pets?cursor=abc>; rel="next"',
  ]) {
    assert.equal(findCursor(header(link), 'next', BASE_URL), 'abc', link);
  }
});

test('the page before is found beside the next page', () => {
  const link = header(
    '<?cursor=abc>; rel="next", <?cursor=def>; rel="prev", <?cursor=last>; rel="last"',
  );
  assert.equal(findCursor(link, 'prev', BASE_URL), 'def');
  assert.equal(findCursor(link, 'next', BASE_URL), 'abc');
});

test('a page without a next link is the last page', () => {
  for (const link of [
    '',
    '<https://pets.example/v1/pets?cursor=abc>; rel="first"',
    'rel="next"',
    '<a>; title="next"',
    '<a>; rel="nextcloud"',
  ]) {
    assert.equal(findCursor(header(link), 'next', BASE_URL), undefined, link);
  }
  assert.equal(findCursor(new Headers(), 'next', BASE_URL), undefined);
});

test('a next link without a cursor is an error, not the end of the list', () => {
  assert.throws(() =>
    findCursor(header('<https://pets.example/v1/pets?page=2>; rel="next"'), 'next', BASE_URL),
  );
});

test('a hostile header of 16 KiB, the most that fetch accepts, takes less than 300 ms of processor time', () => {
  const kib = 1024;
  for (const text of [
    '<'.repeat(16 * kib),
    '<;a="'.repeat(3 * kib),
    `<a>${' ; a = "b"'.repeat(kib)} ; "`,
    `<a>${' '.repeat(15 * kib)}`,
    `<a>;${'a'.repeat(15 * kib)}"`,
  ]) {
    const headers = header(text);
    const began = process.cpuUsage();
    assert.equal(findLink(headers, 'next'), undefined);
    const { user, system } = process.cpuUsage(began);
    assert.ok(user + system < 300_000, `${user + system} µs for ${text.slice(0, 20)}`);
  }
});

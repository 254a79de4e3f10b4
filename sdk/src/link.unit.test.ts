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
    '<?cursor=abc>; crossorigin; rel = "next"',
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

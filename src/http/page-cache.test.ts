import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRepresentation } from './conditional.ts';
import { PageCache } from './page-cache.ts';

test('an answer is made once for as long as the version stays, and again when it changes', async () => {
  let version = 1;
  let made = 0;
  const cache = new PageCache(() => version);
  const get = () =>
    cache.get('page', undefined, async () => {
      made += 1;
      return newRepresentation(String(version));
    });
  await get();
  assert.equal((await get()).response.body, '1');
  assert.equal(made, 1);
  version = 2;
  assert.equal((await get()).response.body, '2');
  assert.equal(made, 2);
});

test('an answer that was read before a commit is not kept beyond it', async () => {
  let version = 1;
  const cache = new PageCache(() => version);
  const slow = Promise.withResolvers<string>();
  const early = cache.get('page', undefined, async () => newRepresentation(await slow.promise));
  version = 2;
  await cache.get('other', undefined, async () => newRepresentation('x'));
  slow.resolve('old');
  await early;
  const fresh = await cache.get('page', undefined, async () => newRepresentation('new'));
  assert.equal(fresh.response.body, 'new');
});

test('without a version nothing is kept', async () => {
  const cache = new PageCache(() => undefined);
  await cache.get('page', undefined, async () => newRepresentation('one'));
  assert.equal(
    (await cache.get('page', undefined, async () => newRepresentation('two'))).response.body,
    'two',
  );
});

test('a refused answer is not kept', async () => {
  const cache = new PageCache(() => 1);
  await assert.rejects(async () =>
    cache.get('page', undefined, () => Promise.reject(new Error('no'))),
  );
  assert.equal(
    (await cache.get('page', undefined, async () => newRepresentation('yes'))).response.body,
    'yes',
  );
});

test('what is kept is bounded, whatever is asked for', async () => {
  const cache = new PageCache(() => 1);
  const body = 'x'.repeat(1024 * 1024);
  let made = 0;
  const get = (key: string) =>
    cache.get(key, undefined, async () => {
      made += 1;
      return newRepresentation(body);
    });
  for (let index = 0; index < 40; index += 1) await get(`page ${index}`);
  await get('page 0');
  assert.equal(made, 41, 'the first of forty had to go');
});

test('the store is asked once for all requests of a turn, and again for one that may have come later', async () => {
  let version = 1;
  let asked = 0;
  const cache = new PageCache(() => {
    asked += 1;
    return version;
  });
  const get = (turn: number | undefined) =>
    cache.get('page', turn, async () => newRepresentation(String(version)));
  await get(1);
  await get(1);
  assert.equal(asked, 1);
  version = 2;
  assert.equal(
    (await get(1)).response.body,
    '1',
    'begun before the turn, and so before the commit',
  );
  assert.equal((await get(undefined)).response.body, '2');
  assert.equal((await get(1)).response.body, '2', 'and never back again');
  assert.equal((await get(2)).response.body, '2');
});

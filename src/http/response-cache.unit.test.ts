import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { newRepresentation, ResponseCache } from './response-cache.ts';

/** A cache of a store whose commits are so many, and how many responses had to be made. */
function openCache(commits = () => 1) {
  const cache = new ResponseCache({ version: versionOf(commits) });
  const seen = { made: 0 };
  const get = async (key = 'page', bodyOf = () => 'x') => {
    const { response } = await cache.get(key, async () => {
      seen.made += 1;
      return newRepresentation(bodyOf());
    });
    return response.body;
  };
  return { cache, seen, get };
}

/** The version of a store in which each commit changes animals. */
function versionOf(commits: () => number) {
  return () => {
    const count = commits();
    return { commits: count, changes: count };
  };
}

const LARGE = 'x'.repeat(1024 * 1024);

test('an ETag has 22 characters, and is of the body and of the link', () => {
  const [first, second] = [
    newRepresentation('x', { link: '<a>' }),
    newRepresentation('x', { link: '<b>' }),
  ];
  assert.match(first.etag, /^"[\w-]{22}"$/);
  assert.notEqual(first.etag, second.etag);
  assert.notEqual(first.etag, newRepresentation('x').etag);
});

test('a response that is requested again is cached until the version changes, and then made once more', async () => {
  let version = 1;
  const { cache, seen, get: getPage } = openCache(() => version);
  const get = () => getPage('page', () => String(version));
  for (let time = 0; time < 5; time += 1) assert.equal(await get(), '1');
  assert.equal(seen.made, 2, 'a response requested only once is not cached');
  version = 2;
  for (let time = 0; time < 5; time += 1) assert.equal(await get(), '2');
  assert.equal(seen.made, 3);
  const counted = cache.figures().map(({ name, values }) => [name, values[0]?.value]);
  assert.deepEqual(counted, [
    ['petstore_cache_hits_total', 7],
    ['petstore_cache_misses_total', 3],
  ]);
});

test('pages that are requested by turns are cached', async () => {
  const { seen, get } = openCache();
  for (let time = 0; time < 5; time += 1) {
    for (const page of ['first', 'second']) await get(page);
  }
  assert.equal(seen.made, 4, 'each page at its first two requests');
});

test('short responses count with their heads: the cache is full before it has 5,000 of them', async () => {
  const { seen, get } = openCache();
  for (let page = 0; page < 5_000; page += 1) {
    await get(`page ${page}`);
    await get(`page ${page}`);
  }
  assert.equal(seen.made, 10_000);
  await get('page 0');
  assert.equal(seen.made, 10_000, 'the first ones are cached');
  await get('page 4999');
  assert.equal(seen.made, 10_001, 'the last ones are not cached any more');
});

test('pages that are requested once, as on a walk through the catalogue, are not cached', async () => {
  const { seen, get } = openCache();
  const walk = async (pages: number) => {
    for (let page = 0; page < pages; page += 1) await get(`page ${page}`);
  };
  // One more than are remembered: the second walk finds every page forgotten again.
  await walk(10_001);
  await walk(10_001);
  assert.equal(seen.made, 20_002);
  await walk(1);
  await walk(1);
  assert.equal(seen.made, 20_004, 'the first page is forgotten too');
});

test('a response that was read before a commit is not cached after it', async () => {
  let version = 1;
  const cache = new ResponseCache({ version: versionOf(() => version) });
  const slow = Promise.withResolvers<string>();
  await cache.get('page', async () => newRepresentation('first'));
  const early = cache.get('page', async () => newRepresentation(await slow.promise));
  await turn();
  version = 2;
  await cache.get('other', async () => newRepresentation('x'));
  slow.resolve('old');
  await early;
  const fresh = await cache.get('page', async () => newRepresentation('new'));
  assert.equal(fresh.response.body, 'new');
});

test('a create drops only what a create can change, and a change drops everything', async () => {
  const version = { commits: 1, changes: 1 };
  const cache = new ResponseCache({ version: () => ({ ...version }) });
  const made: string[] = [];
  const getBoth = async () => {
    made.length = 0;
    for (const key of ['first page', 'last page', 'first page', 'last page']) {
      await cache.get(key, async () => {
        made.push(key);
        return newRepresentation('x', { isSettled: key === 'first page' });
      });
    }
    return made;
  };
  assert.equal((await getBoth()).length, 4);
  version.commits = 2;
  assert.deepEqual(await getBoth(), ['last page']);
  Object.assign(version, { commits: 3, changes: 2 });
  assert.deepEqual(await getBoth(), ['first page', 'last page']);
});

test('a page that no create can change is cached although a create came while it was read, but not after a change', async () => {
  for (const [after, isCached] of [
    [{ commits: 2, changes: 1 }, true],
    [{ commits: 2, changes: 2 }, false],
  ] as const) {
    let version = { commits: 1, changes: 1 };
    const cache = new ResponseCache({ version: () => version });
    const get = async (body: string | Promise<string>) => {
      const make = async () => newRepresentation(await body, { isSettled: true });
      return (await cache.get('page', make)).response.body;
    };
    await get('first');
    const slow = Promise.withResolvers<string>();
    const early = get(slow.promise);
    await turn();
    version = after;
    await cache.get('other', async () => newRepresentation('x'));
    slow.resolve('old');
    await early;
    assert.equal(await get('new'), isCached ? 'old' : 'new');
  }
});

test('a full cache is emptied by the next create', async () => {
  let commits = 1;
  const cache = new ResponseCache({ version: () => ({ commits, changes: 1 }) });
  let made = 0;
  const getAll = async (pages: readonly number[]) => {
    made = 0;
    for (const page of pages) {
      await cache.get(`page ${page}`, async () => {
        made += 1;
        return newRepresentation(LARGE, { isSettled: true });
      });
    }
    return made;
  };
  const [known, later] = [
    [1, 2, 3, 4],
    [5, 6, 7],
  ];
  await getAll([...known, ...known, ...later]);
  commits += 1;
  assert.equal(await getAll(known), 4, 'the cache was full');
  assert.equal(await getAll(later), 3);
  commits += 1;
  assert.equal(await getAll(later), 3, 'it was full again');
  assert.equal(await getAll(later), 0);
  commits += 1;
  assert.equal(await getAll(later), 0, 'it is not full');
});

test('a page that several clients request at once counts once', async () => {
  const { seen, get } = openCache();
  const pages = ['one', 'two', 'three'];
  for (const page of [...pages, ...pages]) {
    await Promise.all([1, 2, 3].map(() => get(page, () => LARGE)));
  }
  seen.made = 0;
  for (const page of pages) await get(page, () => LARGE);
  assert.equal(seen.made, 0);
});

test('without a version nothing is cached', async () => {
  const cache = new ResponseCache({});
  for (const body of ['one', 'two', 'three']) {
    const { response } = await cache.get('page', async () => newRepresentation(body));
    assert.equal(response.body, body);
  }
});

test('a failure is not cached', async () => {
  const cache = new ResponseCache({ version: versionOf(() => 1) });
  for (let time = 0; time < 3; time += 1) {
    await assert.rejects(async () => cache.get('page', () => Promise.reject(new Error('no'))));
  }
  assert.equal(
    (await cache.get('page', async () => newRepresentation('yes'))).response.body,
    'yes',
  );
});

test('the cache is bounded, whatever is requested', async () => {
  const { seen, get } = openCache();
  for (let time = 0; time < 2; time += 1) {
    for (let index = 0; index < 40; index += 1) await get(`page ${index}`, () => LARGE);
  }
  seen.made = 0;
  for (let index = 0; index < 40; index += 1) await get(`page ${index}`, () => LARGE);
  assert.equal(seen.made, 36, 'four of the forty are cached, and stay');
});

test('what a commit has emptied no longer counts: later pages are cached side by side', async () => {
  let version = 0;
  const { seen, get } = openCache(() => version);
  for (version = 1; version < 10; version += 1) {
    for (const key of ['one', 'one']) await get(key, () => LARGE);
  }
  seen.made = 0;
  for (let time = 0; time < 5; time += 1) {
    for (const key of ['one', 'two']) await get(key, () => LARGE);
  }
  assert.equal(seen.made, 3, 'each page is made again after the last commit');
});

test('a key of any length gets its response, and that of a long key is not cached', async () => {
  for (const [length, made] of [
    [256, 2],
    [257, 5],
  ] as const) {
    const { seen, get } = openCache();
    for (let time = 0; time < 5; time += 1) await get('k'.repeat(length));
    assert.equal(seen.made, made);
  }
});

test('a commit that the request of a long key finds first empties the cache for the others of its turn', async () => {
  let version = 1;
  const cache = new ResponseCache({ version: versionOf(() => version) });
  const get = (key: string) => cache.get(key, async () => newRepresentation(String(version)));
  for (let time = 0; time < 3; time += 1) await get('page');
  version = 2;
  const [, page] = await Promise.all([get('k'.repeat(257)), get('page')]);
  assert.equal(page.response.body, '2');
});

test('the requests of one turn of the event loop share one look at the version, after the last of them', async () => {
  let version = 1;
  let looks = 0;
  const cache = new ResponseCache({
    version: versionOf(() => {
      looks += 1;
      return version;
    }),
  });
  const get = () => cache.get('page', async () => newRepresentation(String(version)));
  await get();
  await get();
  assert.equal(looks, 2);
  const first = get();
  // Committed after the first request of this turn was read, and before the second was.
  version = 2;
  const second = get();
  assert.equal((await second).response.body, '2');
  assert.equal((await first).response.body, '2');
  assert.equal(looks, 3);
});

test('a version that cannot be looked at fails every request that waits for it, and only those', async () => {
  let isBroken = false;
  const cache = new ResponseCache({
    version: versionOf(() => {
      if (isBroken) throw new Error('no version');
      return 1;
    }),
  });
  const get = () => cache.get('page', async () => newRepresentation('x'));
  for (let time = 0; time < 3; time += 1) await get();
  isBroken = true;
  const outcomes = await Promise.allSettled([get(), get()]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  isBroken = false;
  assert.equal((await get()).response.body, 'x');
});

// Walks over the pages of a list. test/golden/requests.txt has each kind of page.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { loadConfig } from '../../src/config.ts';
import { openConfiguredStore } from '../../src/open-store.ts';
import { removePets, setStatus } from '../../harness/change-pets.ts';
import { listAll } from '../../harness/client.ts';
import {
  flagsOf,
  linksOf,
  startTestService,
  type Received,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';

interface PetJson {
  id: number;
  name: string;
  status: string;
}

const STATUSES = ['available', 'pending', 'sold'];
const ANIMALS = 120;
const DEFAULT_LIMIT = 20;

export function listPetsTests(storage: TestStorage): void {
  describe(`GET /v1/pets on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;
    const create = async (name: string, index: number, on = service) => {
      const body = JSON.stringify({ name, categoryId: index, status: statusOf(index) });
      const created = await on.send('/pets', { method: 'POST', body });
      assert.equal(created.status, 201, created.text);
      return created.json() as PetJson;
    };

    before(async () => {
      service = await startTestService(storage);
      for (let index = 0; index < ANIMALS; index += 1) await create(`animal ${index}`, index);
    });
    after(() => service.close());

    test('next and prev lead to every animal of any status once, in order of id, in pages of any limit, and each page links to the others', async () => {
      assert.equal(idsOf(await service.send('/pets')).length, DEFAULT_LIMIT);
      const all = await listAll(service, '/pets?limit=100');
      assert.deepEqual(
        all.map(({ name, status }) => [name, status]),
        Array.from({ length: ANIMALS }, (_, index) => [`animal ${index}`, statusOf(index)]),
      );
      const property = fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100 })),
        fc.option(fc.constantFrom(...STATUSES)),
        async (limit, status) => {
          const expected = all.filter((pet) => status === null || pet.status === status);
          const ids = expected.map(({ id }) => id);
          const first = `/pets?limit=${limit}${status === null ? '' : `&status=${status}`}`;
          const there = await walk(service, first, 'next');
          assert.deepEqual(there.flatMap(idsOf), ids);
          const counts = new Set(there.slice(0, -1).map((page) => idsOf(page).length));
          assert.deepEqual([...counts], there.length === 1 ? [] : [limit]);
          requireLinks(there, 'next');
          const back = await walk(service, `${first}&cursor=last`, 'prev');
          for (const page of back) assert.deepEqual(idsOf(page), ids.splice(-limit));
          assert.deepEqual(ids, []);
          requireLinks(back, 'prev');
          // The links leave out a limit that is the default.
          const last = `/v1${first}&cursor=last`.replace(`limit=${DEFAULT_LIMIT}&`, '');
          assert.equal(linksOf(back[0] ?? assert.fail())['last'], last);
        },
      );
      await fc.assert(property, { numRuns: 15, examples: [[DEFAULT_LIMIT, null]] });
    });

    async function followDuringCreates(relation: 'next' | 'prev', first: string): Promise<void> {
      const earlier = (await listAll(service)).map(({ id }) => id);
      const walking = { isDone: false };
      const creating = (async () => {
        const created: number[] = [];
        while (!walking.isDone) created.push((await create('late', 1)).id);
        return created;
      })();
      const pages = await walk(service, first, relation);
      walking.isDone = true;
      const created = await creating;
      assert.ok(created.length > 0);
      const ids = (relation === 'next' ? pages : pages.toReversed()).flatMap(idsOf);
      assert.deepEqual(ids.slice(0, earlier.length), earlier);
      const reached = ids.at(-1) ?? 0;
      const lower = created.filter((id) => id <= reached);
      assert.deepEqual(ids.slice(earlier.length), lower, 'every new animal with a lower id');
    }

    test('a reader that follows the next links during creates sees every earlier animal exactly once', () =>
      followDuringCreates('next', '/pets?limit=7'));

    test('a reader that follows the prev links during creates sees every earlier animal exactly once', () =>
      followDuringCreates('prev', '/pets?limit=7&cursor=last'));

    test('the last page has a prev link as soon as one animal more exists than it shows', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      for (const prev of [undefined, undefined, '[1]', '[1,2]']) {
        await create('Rex', 7, small);
        const last = await small.send('/pets?limit=2&cursor=last');
        const url = linksOf(last)['prev'];
        const shown = url && JSON.stringify(idsOf(await small.send(pathOf(url))));
        assert.equal(shown, prev);
      }
    });

    test('a page of the way back whose animals were removed is empty, and still has next', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      for (let count = 0; count < 4; count += 1) await create('Rex', 7, small);
      const path = pathOf(linksOf(await small.send('/pets?limit=2&cursor=last'))['prev']);
      assert.deepEqual(idsOf(await small.send(path)), [1, 2]);
      const store = await openConfiguredStore(loadConfig(flagsOf(small.flags), {}));
      await removePets(store, [1n, 2n]);
      await store.close();
      const empty = await small.send(path);
      assert.equal(empty.text, '[]');
      const { next, prev } = linksOf(empty);
      assert.equal(prev, undefined);
      assert.deepEqual(idsOf(await small.send(pathOf(next))), [3, 4]);
    });

    test('a cached page, and a cached animal, show what any process has created, changed and removed', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      for (let count = 0; count < 3; count += 1) await create('Rex', 7, small);
      const store = await openConfiguredStore(loadConfig(flagsOf(small.flags), {}));
      t.after(() => store.close());
      const tom = { name: 'Tom', categoryId: 1n, status: 'pending' } as const;
      for (const act of [
        () => create('Tim', 7, small),
        () => store.createPet(tom),
        () => setStatus(store, [1n], 'pending'),
        () => setStatus(store, [4n], 'pending'),
        () => removePets(store, [3n]),
        () => store.createPet(tom),
      ]) {
        await act();
        for (const path of [
          '/pets?limit=2',
          '/pets?limit=4',
          '/pets?limit=9',
          '/pets?limit=2&cursor=last',
          '/pets?limit=1&status=pending',
          '/pets/1?',
        ]) {
          // Too long for the cache.
          const fresh = await small.send(`${path}&fresh=${'x'.repeat(256)}`);
          for (let time = 0; time < 3; time += 1) {
            const page = await small.send(path);
            assert.equal(page.text, fresh.text, path);
            assert.equal(linksOf(page)['next'], linksOf(fresh)['next'], path);
          }
        }
      }
    });

    test('a new animal changes the last page alone, and a page that did not change is 304, also from the cache', async () => {
      const path = pathOf(linksOf(await service.send('/pets?limit=7&cursor=last'))['prev']);
      for (const shown of [path, '/pets?limit=2']) {
        const page = await service.send(shown);
        const created = await create('Newest', 7);
        const newest = await service.send('/pets?limit=1&cursor=last');
        assert.deepEqual(idsOf(newest), [created.id]);
        for (let time = 0; time < 3; time += 1) {
          const again = await service.send(shown);
          const { etag, link } = page.headers;
          assert.deepEqual([again.text, again.headers.link], [page.text, link]);
          const headers = { 'if-none-match': String(etag), prefer: 'handling=strict' };
          const unchanged = await service.send(shown, { headers });
          assert.deepEqual([unchanged.status, unchanged.text], [304, '']);
          assert.equal(unchanged.headers.link, link);
        }
      }
    });
  });
}

const statusOf = (index: number) => STATUSES[((index * index) % 7) % 3];

function idsOf(page: Received): number[] {
  return (page.json() as PetJson[]).map(({ id }) => id);
}

/** The part of a link below the base URL. */
function pathOf(link = ''): string {
  assert.match(link, /^\/v1\//);
  return link.slice('/v1'.length);
}

/** Follows the links from page to page. */
async function walk(
  service: TestService,
  first: string,
  relation: 'next' | 'prev',
): Promise<Received[]> {
  const pages: Received[] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const page: Received = await service.send(path);
    assert.equal(page.status, 200, page.text);
    pages.push(page);
    const link = linksOf(page)[relation];
    path = link && pathOf(link);
  }
  return pages;
}

/** The way there has no prev links; the way back has both but at its ends. */
function requireLinks(pages: readonly Received[], relation: 'next' | 'prev'): void {
  for (const [index, page] of pages.entries()) {
    const next = (relation === 'next' ? index < pages.length - 1 : index > 0) ? ['next'] : [];
    const prev = relation === 'prev' && index < pages.length - 1 ? ['prev'] : [];
    assert.deepEqual(Object.keys(linksOf(page)).toSorted(), ['first', 'last', ...next, ...prev]);
  }
}

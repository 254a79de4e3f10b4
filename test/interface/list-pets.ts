import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { loadConfig } from '../../src/config.ts';
import { openConfiguredStore } from '../../src/service.ts';
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
const CREATE_CONNECTIONS = 50;

export function listPetsTests(storage: TestStorage): void {
  describe(`GET /v1/pets on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;
    const create = (index: number, prefix = 'animal') =>
      service.send('/pets', {
        method: 'POST',
        body: JSON.stringify({
          name: `${prefix} ${index}`,
          categoryId: index,
          status: STATUSES[index % 3],
        }),
      });

    before(async () => {
      service = await startTestService(storage);
      // All at once would be 1,000 connections, which a busy machine cannot serve within the timeouts.
      const indexes = Array.from({ length: 1000 }, (_, index) => index).values();
      const createAll = async () => {
        for (const index of indexes) await create(index);
      };
      await Promise.all(Array.from({ length: CREATE_CONNECTIONS }, createAll));
    });
    after(() => service.close());

    test('a page has 20 animals by default, in ascending order of id', async () => {
      const page = await service.send('/pets');
      const ids = idsOf(page);
      assert.equal(ids.length, 20);
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
      assert.equal((await service.send('/pets?limit=1')).text.match(/"id"/g)?.length, 1);
      assert.equal(idsOf(await service.send('/pets?limit=100')).length, 100);
    });

    test('following the next links with limit=7 returns each of 1,000 animals exactly once', async () => {
      const ids = await listIds(service, '/pets?limit=7');
      assert.equal(ids.length, 1000);
      assert.equal(new Set(ids).size, 1000);
    });

    for (const status of STATUSES) {
      test(`following the next links with status=${status} returns exactly the animals with that status`, async () => {
        const pets = await listAll(service, `/pets?limit=7&status=${status}`);
        const expected = Array.from({ length: 1000 }, (_, index) => index).filter(
          (index) => STATUSES[index % 3] === status,
        );
        assert.equal(pets.length, expected.length);
        assert.equal(new Set(pets.map(({ id }) => id)).size, expected.length);
        assert.ok(pets.every((pet) => pet.status === status));
      });
    }

    test('a reader that follows the next links during creates sees every earlier animal exactly once', async () => {
      const earlier = await listAll(service);
      const walking = { isDone: false };
      const creating = (async () => {
        const created: number[] = [];
        for (let index = 0; !walking.isDone && index < 2000; index += 1) {
          created.push((JSON.parse((await create(index, 'late')).text) as PetJson).id);
        }
        return created;
      })();
      const ids = await listIds(service, '/pets?limit=7');
      walking.isDone = true;
      const created = await creating;
      assert.equal(new Set(ids).size, ids.length, 'no animal may be read twice');
      assert.ok(created.length > 0);
      const seen = new Set(ids);
      assert.ok(
        earlier.every(({ id }) => seen.has(id)),
        'every earlier animal must be read',
      );
      const reached = ids.at(-1) ?? 0;
      assert.ok(
        created.every((id) => id > reached || seen.has(id)),
        'every new animal with a lower id must be read too',
      );
    });

    test('rel="last" is a constant URL: the last animals of the filter, ascending, and no next', async () => {
      const page = await service.send('/pets?limit=7&status=sold');
      const { last } = linksOf(page);
      assert.equal(last, '/v1/pets?limit=7&status=sold&cursor=last');
      assert.equal(linksOf(await service.send('/pets')).last, '/v1/pets?cursor=last');
      for (const filter of ['', '&status=sold']) {
        const end = await service.send(`/pets?limit=7${filter}&cursor=last`);
        const ids = await listIds(service, `/pets?limit=100${filter}`);
        assert.deepEqual(idsOf(end), ids.slice(-7), filter);
        assert.deepEqual(Object.keys(linksOf(end)).toSorted(), ['first', 'last', 'prev']);
      }
    });

    test('rel="prev" leads from the last page to the oldest animal, with any limit and status, each animal once', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      for (let index = 0; index < 60; index += 1) {
        const status = STATUSES[((index * index) % 7) % 3];
        const body = JSON.stringify({ name: 'Rex', categoryId: 7, status });
        await small.send('/pets', { method: 'POST', body });
      }
      const property = fc.asyncProperty(
        fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100 })),
        fc.constantFrom('', ...STATUSES.map((status) => `&status=${status}`)),
        async (limit, filter) => {
          const ids = await listIds(small, `/pets?limit=100${filter}`);
          const pages = await walkBack(small, `/pets?limit=${limit}${filter}&cursor=last`);
          for (const page of pages) assert.deepEqual(idsOf(page), ids.splice(-limit));
          assert.deepEqual(ids, []);
          for (const [index, page] of pages.entries()) {
            const next = index === 0 ? [] : ['next'];
            const prev = index === pages.length - 1 ? [] : ['prev'];
            const expected = ['first', 'last', ...next, ...prev];
            assert.deepEqual(Object.keys(linksOf(page)).toSorted(), expected);
          }
        },
      );
      await fc.assert(property, { numRuns: 40 });
    });

    test('a page of the way back has the next link of the animals after it, and those pages have no prev', async () => {
      const last = await service.send('/pets?limit=7&status=sold&cursor=last');
      const earlier = await service.send(pathOf(linksOf(last)['prev']));
      const later = await service.send(pathOf(linksOf(earlier)['next']));
      assert.equal(later.text, last.text);
      assert.deepEqual(Object.keys(linksOf(later)).toSorted(), ['first', 'last']);
      for (const path of ['/pets?limit=7&status=sold', '/pets']) {
        let page = await service.send(path);
        for (let count = 0; count < 3; count += 1) {
          assert.deepEqual(Object.keys(linksOf(page)).toSorted(), ['first', 'last', 'next']);
          page = await service.send(pathOf(linksOf(page)['next']));
        }
      }
    });

    test('a new animal does not change the ETag of a page on the way back, and If-None-Match, HEAD and strict handling work there', async () => {
      const { prev } = linksOf(await service.send('/pets?limit=7&cursor=last'));
      const path = pathOf(prev);
      const page = await service.send(path);
      await create(2);
      for (const sent of [
        { headers: { 'if-none-match': String(page.headers.etag) } },
        { headers: { 'if-none-match': String(page.headers.etag), prefer: 'handling=strict' } },
      ]) {
        const again = await service.send(path, sent);
        assert.deepEqual([again.status, again.text], [304, '']);
        assert.equal(again.headers.link, page.headers.link);
      }
      const head = await service.send(path, { method: 'HEAD' });
      assert.equal(head.text, '');
      for (const name of ['content-length', 'etag', 'link']) {
        assert.equal(head.headers[name], page.headers[name], name);
      }
      // A page that is requested again comes from the cache, and is the same.
      for (let time = 0; time < 3; time += 1) {
        const again = await service.send(path);
        assert.deepEqual([again.text, again.headers.link], [page.text, page.headers.link]);
      }
    });

    test('the last page has a prev link as soon as one animal more exists than it shows', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      const add = () =>
        small.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
      for (const prev of [undefined, undefined, '[1]', '[1,2]']) {
        await add();
        const last = await small.send('/pets?limit=2&cursor=last');
        const url = linksOf(last)['prev'];
        const shown = url && JSON.stringify(idsOf(await small.send(pathOf(url))));
        assert.equal(shown, prev);
      }
    });

    test('a page of the way back whose animals were removed is empty, and still has next', async (t) => {
      const small = await startTestService(storage);
      t.after(() => small.close());
      for (let count = 0; count < 4; count += 1) {
        await small.send('/pets', { method: 'POST', body: '{"name":"Rex","categoryId":7}' });
      }
      const path = pathOf(linksOf(await small.send('/pets?limit=2&cursor=last'))['prev']);
      assert.deepEqual(idsOf(await small.send(path)), [1, 2]);
      const store = await openConfiguredStore(loadConfig(flagsOf(small.flags), {}));
      await store.removePets([1n, 2n]);
      await store.close();
      const empty = await small.send(path);
      assert.equal(empty.text, '[]');
      const { next, prev } = linksOf(empty);
      assert.equal(prev, undefined);
      assert.deepEqual(idsOf(await small.send(pathOf(next))), [3, 4]);
    });

    test('a reader that follows the prev links during creates sees every earlier animal exactly once', async () => {
      const idsBefore = await listIds(service);
      const walking = { isDone: false };
      const creating = (async () => {
        let created = 0;
        for (; !walking.isDone && created < 2000; created += 1) await create(created, 'beside');
        return created;
      })();
      const pages = await walkBack(service, '/pets?limit=7&cursor=last');
      walking.isDone = true;
      assert.ok((await creating) > 0);
      const ids = pages.toReversed().flatMap(idsOf);
      assert.deepEqual(ids.slice(0, idsBefore.length), idsBefore);
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(ids).size, ids.length, 'no animal may be read twice');
    });

    test('a new animal changes the last page, and not the ETag of a page that does not show it', async () => {
      const first = await service.send('/pets?limit=2');
      const body = '{"name":"Newest","categoryId":7}';
      const created = await service.send('/pets', { method: 'POST', body });
      assert.equal((await service.send('/pets?limit=2')).headers['etag'], first.headers['etag']);
      const newest = await service.send('/pets?limit=1&cursor=last');
      assert.equal(newest.text, `[${created.text}]`);
    });
  });
}

function idsOf(page: Received): number[] {
  return (page.json() as PetJson[]).map(({ id }) => id);
}

/** The part of a link below the base URL. */
function pathOf(link = ''): string {
  assert.match(link, /^\/v1\//);
  return link.slice('/v1'.length);
}

/** Follows the `prev` links to the oldest page. */
async function walkBack(service: TestService, path: string): Promise<Received[]> {
  const pages: Received[] = [];
  for (let prev: string | undefined = path; prev !== undefined;) {
    const page: Received = await service.send(prev);
    assert.equal(page.status, 200, page.text);
    const [later] = (pages.at(-1)?.json() as PetJson[]) ?? [];
    assert.ok(
      idsOf(page).every((id) => later === undefined || id < later.id),
      'no page twice',
    );
    pages.push(page);
    const link = linksOf(page)['prev'];
    prev = link && pathOf(link);
  }
  return pages;
}

/** The ids of all animals of a list. */
async function listIds(service: TestService, first?: string): Promise<number[]> {
  return (await listAll(service, first)).map(({ id }) => id);
}

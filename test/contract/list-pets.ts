import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { newCursor } from '../../src/domain/page.ts';
import { exchange, parseAnswers } from '../raw-socket.ts';
import {
  linksOf,
  startTestService,
  type Received,
  type TestService,
  type TestStorage,
} from '../test-service.ts';
import { assertError } from './errors.ts';

interface PetJson {
  id: number;
  name: string;
  status: string;
}

const STATUSES = ['available', 'pending', 'sold'];

export function listPetsContract(storage: TestStorage): void {
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
      await Promise.all(Array.from({ length: 1000 }, (_, index) => create(index)));
    });
    after(() => service.close());

    test('200 with an empty array when there is nothing, and no next page', async (t) => {
      const empty = await startTestService(storage);
      t.after(() => empty.close());
      const page = await empty.send('/pets');
      assert.equal(page.status, 200);
      assert.equal(page.text, '[]');
      assert.deepEqual(linksOf(page), { first: `${empty.baseUrl}/pets` });
    });

    test('a page holds 20 animals unless limit says otherwise, in ascending order of id', async () => {
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

    test('1,000 animals walked through next with limit=7: each exactly once', async () => {
      const { ids } = await walk(service, '/pets?limit=7');
      assert.equal(ids.length, 1000);
      assert.equal(new Set(ids).size, 1000);
    });

    for (const status of STATUSES) {
      test(`a walk with status=${status} meets exactly the animals of that status`, async () => {
        const { ids, pets } = await walk(service, `/pets?limit=7&status=${status}`);
        const expected = Array.from({ length: 1000 }, (_, index) => index).filter(
          (index) => STATUSES[index % 3] === status,
        );
        assert.equal(ids.length, expected.length);
        assert.equal(new Set(ids).size, expected.length);
        assert.ok(pets.every((pet) => pet.status === status));
      });
    }

    test('a walk while another client is creating meets every animal that was there, each once', async () => {
      const idsBefore = (await walk(service, '/pets?limit=100')).ids;
      const walking = { isDone: false };
      const creating = (async () => {
        const created: number[] = [];
        for (let index = 0; !walking.isDone && index < 2000; index += 1) {
          created.push((JSON.parse((await create(index, 'late')).text) as PetJson).id);
        }
        return created;
      })();
      const { ids } = await walk(service, '/pets?limit=7');
      walking.isDone = true;
      const created = await creating;
      assert.equal(new Set(ids).size, ids.length, 'none twice');
      assert.ok(created.length > 0);
      const met = new Set(ids);
      assert.ok(
        idsBefore.every((id) => met.has(id)),
        'none of the earlier ones missed',
      );
      const reached = ids.at(-1) ?? 0;
      assert.ok(
        created.every((id) => id > reached || met.has(id)),
        'none passed by on the way',
      );
    });

    test('rel="first" leads back to the beginning, under the base address', async () => {
      const page = await service.send('/pets?limit=7&status=sold');
      const { first, next } = linksOf(page);
      assert.equal(first, `${service.baseUrl}/pets?limit=7&status=sold`);
      assert.match(
        String(next),
        /^http:\/\/127\.0\.0\.1:\d+\/v1\/pets\?limit=7&status=sold&cursor=[\w-]{1,64}$/,
      );
    });

    const refused: [why: string, query: string, code: 'invalid_parameter' | 'invalid_cursor'][] = [
      ['limit below 1', 'limit=0', 'invalid_parameter'],
      ['limit above 100', 'limit=101', 'invalid_parameter'],
      ['a negative limit', 'limit=-1', 'invalid_parameter'],
      ['a fraction as limit', 'limit=1.5', 'invalid_parameter'],
      ['a word as limit', 'limit=ten', 'invalid_parameter'],
      ['an empty limit', 'limit=', 'invalid_parameter'],
      ['a huge limit', 'limit=99999999999999999999', 'invalid_parameter'],
      ['limit given twice', 'limit=5&limit=5', 'invalid_parameter'],
      ['an unknown status', 'status=lost', 'invalid_parameter'],
      ['a status in capitals', 'status=SOLD', 'invalid_parameter'],
      ['an empty status', 'status=', 'invalid_parameter'],
      ['status given twice', 'status=sold&status=sold', 'invalid_parameter'],
      ['a garbage cursor', 'cursor=garbage', 'invalid_cursor'],
      ['an empty cursor', 'cursor=', 'invalid_cursor'],
      ['a cursor over 64 characters', `cursor=${'A'.repeat(65)}`, 'invalid_cursor'],
      [
        'a cursor given twice',
        `cursor=${newCursor(1n, undefined)}&cursor=${newCursor(1n, undefined)}`,
        'invalid_parameter',
      ],
      [
        'a cursor of another filter',
        `status=sold&cursor=${newCursor(1n, 'pending')}`,
        'invalid_cursor',
      ],
      [
        'an unfiltered cursor with a filter',
        `status=sold&cursor=${newCursor(1n, undefined)}`,
        'invalid_cursor',
      ],
      ['a broken percent encoding', 'limit=%zz', 'invalid_parameter'],
    ];
    for (const [why, query, code] of refused) {
      test(`400 ${code} for ${why}, never clamped`, async () => {
        assertError(await service.send(`/pets?${query}`), code, /limit|status|cursor/);
      });
    }

    test('unknown query parameters are ignored, and refused by name under Prefer: handling=strict', async () => {
      assert.equal((await service.send('/pets?offset=3&limit=2')).status, 200);
      const strict = { headers: { prefer: 'respond-async, handling=strict' } };
      assertError(
        await service.send('/pets?offset=3&limit=2', strict),
        'unknown_parameter',
        /offset/,
      );
      const kept = await service.send('/pets?limit=2', strict);
      assert.equal(kept.status, 200);
      assert.equal(kept.headers['preference-applied'], 'handling=strict');
    });

    test('If-None-Match with the ETag at hand is 304 without a body, and a create ends that', async () => {
      const lastPage = `/pets?limit=100&cursor=${newCursor(BigInt((await walk(service, '/pets?limit=100')).ids.at(-2) ?? 0), undefined)}`;
      const page = await service.send(lastPage);
      const etag = String(page.headers.etag);
      assert.match(etag, /^"[\w-]+"$/);
      assert.equal(page.headers['cache-control'], 'private, no-cache');
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await service.send(lastPage, { headers: { 'if-none-match': known } });
        assert.equal(again.status, 304);
        assert.equal(again.text, '');
        assert.equal(again.headers.etag, etag);
      }
      await create(0);
      const changed = await service.send(lastPage, { headers: { 'if-none-match': etag } });
      assert.equal(changed.status, 200);
    });

    test('the ETag changes when only the next link appears', async () => {
      const all = (await walk(service, '/pets?limit=100')).ids;
      const beforeLast = newCursor(BigInt(all.at(-2) ?? 0), undefined);
      const alone = await service.send(`/pets?limit=1&cursor=${beforeLast}`);
      await create(1);
      const followed = await service.send(`/pets?limit=1&cursor=${beforeLast}`);
      assert.equal(alone.text, followed.text);
      assert.notEqual(alone.headers.etag, followed.headers.etag);
    });

    test('HEAD has the headers of GET and no body', async () => {
      const got = await service.send('/pets?limit=3');
      const head = await service.send('/pets?limit=3', { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      for (const name of ['content-type', 'content-length', 'etag', 'link', 'cache-control']) {
        assert.equal(typeof got.headers[name], 'string', name);
        assert.equal(head.headers[name], got.headers[name], name);
      }
    });

    test('the absolute form of the target, which proxies send, gets the page of the path', async () => {
      const { port } = new URL(service.baseUrl);
      const head = `Host: pets.example\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n`;
      const [absolute] = parseAnswers(
        await exchange(Number(port), [
          `GET http://pets.example/v1/pets?limit=1 HTTP/1.1\r\n${head}\r\n`,
        ]),
      );
      const page = await service.send('/pets?limit=1');
      assert.equal(absolute?.status, 200);
      assert.equal(absolute?.body, page.text);
      assert.ok(absolute?.head.includes(`Link: ${String(page.headers.link)}`), absolute?.head);
    });

    test('a second question mark is part of the name: ??limit=1 has no limit', async () => {
      assert.equal(idsOf(await service.send('/pets??limit=1')).length, 20);
      assertError(
        await service.send('/pets??limit=1', { headers: { prefer: 'handling=strict' } }),
        'unknown_parameter',
        /\?limit/,
      );
    });
  });
}

function idsOf(page: Received): number[] {
  return (page.json() as PetJson[]).map(({ id }) => id);
}

/** Follows `next` from a first page to the end. */
async function walk(
  service: TestService,
  path: string,
): Promise<{ ids: number[]; pets: PetJson[] }> {
  const pets: PetJson[] = [];
  let next: string | undefined = path;
  while (next !== undefined) {
    const page: Received = await service.send(next);
    assert.equal(page.status, 200, page.text);
    pets.push(...(page.json() as PetJson[]));
    next = linksOf(page)['next']?.slice(service.baseUrl.length);
  }
  return { pets, ids: pets.map(({ id }) => id) };
}

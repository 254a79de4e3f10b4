// Kills the process during creates, and checks that no acknowledged animal is lost.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve, temporaryFolder, type Running } from '../../harness/test-process.ts';

const CREATES = 1_000;
const CONNECTIONS = 64;

interface PetJson {
  id: number;
  name: string;
}

function create({ baseUrl, key }: Running, index: number): Promise<Response> {
  return fetch(`${baseUrl}/pets`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `create-${index}`,
    },
    body: JSON.stringify({ name: `animal ${index}`, categoryId: index }),
  });
}

/** Reads every animal by following the next links. */
async function readAll({ baseUrl, key }: Running): Promise<PetJson[]> {
  const pets: PetJson[] = [];
  let next: string | undefined = `${baseUrl}/pets?limit=100`;
  while (next !== undefined) {
    const page: Response = await fetch(next, { headers: { authorization: `Bearer ${key}` } });
    pets.push(...((await page.json()) as PetJson[]));
    next = /<([^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return pets;
}

/** Sends all creates over a fixed number of connections. Returns the ids of those that were acknowledged. */
async function createAll(
  service: Running,
  onAcknowledged: (count: number) => void,
): Promise<Map<number, number>> {
  const acknowledged = new Map<number, number>();
  let index = 0;
  const work = async () => {
    while (index < CREATES) {
      const mine = index;
      index += 1;
      try {
        const response = await create(service, mine);
        const pet = (await response.json()) as PetJson;
        assert.equal(response.status, 201);
        acknowledged.set(mine, pet.id);
        onAcknowledged(acknowledged.size);
      } catch (error) {
        // The process was killed. A create without a response was not acknowledged.
        if (error instanceof assert.AssertionError) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return acknowledged;
}

test(`after kill -9 during ${CREATES} concurrent creates, every acknowledged animal is stored, and retries of all creates store none of them twice`, async (t) => {
  const folder = temporaryFolder(t);
  const killed = await serve(t, ['--data', folder]);
  const acknowledged = await createAll(killed, (count) => {
    if (count === CREATES / 4) killed.kill('SIGKILL');
  });
  assert.equal(await killed.ended, 'SIGKILL');
  assert.ok(
    acknowledged.size >= CREATES / 4 && acknowledged.size < CREATES,
    `${acknowledged.size} acknowledged`,
  );

  const restarted = await serve(t, ['--data', folder]);
  assert.equal(restarted.key, '', 'the key is printed only once');
  const service = { ...restarted, key: killed.key };
  const survived = new Map((await readAll(service)).map((pet) => [pet.id, pet.name]));
  for (const [index, id] of acknowledged) assert.equal(survived.get(id), `animal ${index}`);

  const retried = await createAll(service, () => undefined);
  for (const [index, id] of acknowledged)
    assert.equal(retried.get(index), id, 'a retry must return the same animal');
  const all = await readAll(service);
  assert.equal(all.length, CREATES);
  assert.equal(
    new Set(all.map(({ name }) => name)).size,
    CREATES,
    'each animal must be stored once',
  );
});

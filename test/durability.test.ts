// Nothing acknowledged is ever lost: the process is killed in the middle of its work.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve, temporaryFolder, type Running } from './test-process.ts';

const CREATES = 2_000;
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

/** Every animal there is, through the next links. */
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

/** Works through all creates with a bounded number at once; gives what was acknowledged. */
async function createAll(
  service: Running,
  onAnswer: (answered: number) => void,
): Promise<Map<number, number>> {
  const acknowledged = new Map<number, number>();
  let index = 0;
  const work = async () => {
    while (index < CREATES) {
      const mine = index;
      index += 1;
      try {
        const answer = await create(service, mine);
        const pet = (await answer.json()) as PetJson;
        assert.equal(answer.status, 201);
        acknowledged.set(mine, pet.id);
        onAnswer(acknowledged.size);
      } catch (error) {
        // The process is gone; whatever was not answered was not acknowledged.
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
  const acknowledged = await createAll(killed, (answered) => {
    if (answered === CREATES / 4) killed.kill('SIGKILL');
  });
  assert.equal(await killed.ended, 'SIGKILL');
  assert.ok(
    acknowledged.size >= CREATES / 4 && acknowledged.size < CREATES,
    `${acknowledged.size} acknowledged`,
  );

  const restarted = await serve(t, ['--data', folder]);
  assert.equal(restarted.key, '', 'the key is not shown twice');
  const service = { ...restarted, key: killed.key };
  const survived = new Map((await readAll(service)).map((pet) => [pet.id, pet.name]));
  for (const [index, id] of acknowledged) assert.equal(survived.get(id), `animal ${index}`);

  const retried = await createAll(service, () => undefined);
  for (const [index, id] of acknowledged)
    assert.equal(retried.get(index), id, 'the same animal again');
  const all = await readAll(service);
  assert.equal(all.length, CREATES);
  assert.equal(new Set(all.map(({ name }) => name)).size, CREATES, 'each animal once');
});

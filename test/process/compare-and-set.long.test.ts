// Many people change the same animals in the console through two processes, one of which is killed meanwhile.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test, type TestContext } from 'node:test';
import { Client, listAll, type WirePet } from '../../harness/client.ts';
import { NEEDS_LINUX } from '../../harness/needs.ts';
import { openPostgresStorage } from '../../harness/postgres-storage.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { sqliteStorage, type TestStorage } from '../../harness/test-service.ts';
import { newSecret } from '../../src/domain/api-key.ts';

const CLIENTS = 16;
const ANIMALS = 50;
const CHANGES = 2_000;
/** How many changes were sent when one of the two processes is killed. */
const KILL_AT = 1_200;

const postgres = await openPostgresStorage();
after(() => postgres.close());

/** Each change gives a name of its own, so a name says which change has stored it. */
interface Change {
  id: number;
  before: string;
  outcome: 'applied' | 'refused' | 'unknown';
}

async function readPet(client: Client, { baseUrl }: ServiceProcess, id: number): Promise<WirePet> {
  const { status, body } = await client.get(`${baseUrl}/pets/${id}`);
  assert.equal(status, 200, body);
  return JSON.parse(body) as WirePet;
}

async function changePet(
  client: Client,
  { baseUrl }: ServiceProcess,
  { id, ...from }: WirePet,
  name: string,
): Promise<Change> {
  const url = `${baseUrl.replace(/v1$/, '')}console/pets/${id}/change`;
  const body = JSON.stringify({ from, to: { name } });
  const change = { id, before: from.name };
  try {
    const { status, body: text } = await client.send(url, { method: 'POST', body });
    assert.ok(status === 200 || status === 409, text);
    return { ...change, outcome: status === 200 ? 'applied' : 'refused' };
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return { ...change, outcome: 'unknown' };
  }
}

/** The names that an animal had, from the last to the first. Each change was of what the one before had stored. */
function namesOf(last: WirePet, changes: ReadonlyMap<string, Change>): string[] {
  const names = [last.name];
  for (let change = changes.get(last.name); change; change = changes.get(change.before)) {
    assert.equal(change.id, last.id);
    assert.ok(!names.includes(change.before), `${change.before} is there twice`);
    names.push(change.before);
  }
  return names;
}

async function changeAll(t: TestContext, storage: TestStorage): Promise<void> {
  const database = await storage.newDatabase();
  const { flags } = database;
  const key = newSecret('production', randomBytes);
  const first = await ServiceProcess.start({ key, flags });
  const services = [first, await ServiceProcess.start({ key, flags })];
  const clients = Array.from({ length: CLIENTS }, () => new Client(key));
  for (let id = 1; id <= ANIMALS; id += 1) {
    await clients[0]?.create(first.baseUrl, `Animal ${id}`, { isClaimed: false });
  }
  const changes = new Map<string, Change>();
  let sent = 0;
  const work = async (client: Client, at: number): Promise<void> => {
    while (sent < CHANGES) {
      sent += 1;
      const number = sent;
      if (number === KILL_AT) await services.pop()?.kill();
      const service = services[(at + number) % services.length] ?? first;
      // Half of them change the same five.
      const id = 1 + (number % (number % 2 === 0 ? 10 : ANIMALS));
      const seen = await readPet(client, service, id).catch(() => readPet(client, first, id));
      const name = `${number} by ${at}`;
      changes.set(name, await changePet(client, service, seen, name));
    }
  };
  await Promise.all(clients.map(work));
  const outcomes = Map.groupBy(changes.values(), ({ outcome }) => outcome);
  const counts = [...outcomes].map(([outcome, { length }]) => `${length} ${outcome}`);
  t.diagnostic(`${storage.name}: ${counts.toSorted().join(', ')}`);

  const stored = new Set((await listAll(first)).flatMap((pet) => namesOf(pet, changes)));
  for (const [name, { outcome }] of changes) {
    if (outcome !== 'unknown') assert.equal(stored.has(name), outcome === 'applied', name);
  }
  assert.equal(changes.size, CHANGES);
  assert.ok((outcomes.get('applied')?.length ?? 0) > ANIMALS && outcomes.has('refused'));
  for (const client of clients) client.close();
  assert.deepEqual(await first.stop(), []);
  await database.remove();
}

for (const storage of [sqliteStorage, postgres]) {
  const title = `${storage.name}: of ${CHANGES} changes by ${CLIENTS} clients through two processes, each is of what it saw or refused, also when one is killed (D49)`;
  test(title, { skip: NEEDS_LINUX }, (t) => changeAll(t, storage));
}

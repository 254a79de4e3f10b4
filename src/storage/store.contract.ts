// What every store promises, as one suite: the model (model.contract.ts), and what a model cannot see. The test file of
// each store calls it.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { listPets } from '../../harness/list-pets.ts';
import { newApiKey, newSecret, type ApiKey } from '../domain/api-key.ts';
import { Refusal } from '../domain/errors.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX } from '../domain/int64.ts';
import type { NewPet, Pet, PetStatus } from '../domain/pet.ts';
import type { Creation, Store } from '../domain/store.ts';
import type { Measured } from '../ops/metrics.ts';
import { checkModel } from './model.contract.ts';

type MeasuredStore = Store & Measured;

/** A fresh, empty database of the store under test. */
export interface Subject {
  /** Opens a store on the database: once for a single process, more often for several. */
  open(): Promise<MeasuredStore>;
  /** How many transactions have stored animals so far. */
  countCommits(): Promise<number>;
  /** How many claims of creates are stored, expired ones too. */
  countClaims(): Promise<number>;
}

export interface Contract {
  newSubject(context: TestContext): Promise<Subject>;
  /** Whether the store can tell without a query that nothing was committed. */
  hasVersion: boolean;
}

const NOW = new Date('2026-11-15T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
const TOM: NewPet = { name: '"Tom"\n\\😀', categoryId: INT64_MAX, status: 'pending' };
const EVERYTHING = { status: undefined, afterId: 0n, count: 20_000 };
/** The first runs are always the same, so that a bug that they notice is always noticed. The last ones search. */
const MODEL_RUNS = [{ runs: 6, seed: 1 }, { runs: Number(process.env['RUNS'] ?? 2) }];

export function storeContract(name: string, contract: Contract): void {
  /** A test with one store open, and a way to open more. */
  function promise(
    title: string,
    keep: (store: MeasuredStore, more: Opened) => Promise<void>,
  ): void {
    test(title, async (context) => {
      const subject = await contract.newSubject(context);
      const open = async () => {
        const store = await subject.open();
        context.after(() => store.close());
        return store;
      };
      await keep(await open(), { open, subject });
    });
  }

  test(`${name} does what the model does, through several processes`, async (context) => {
    for (const runs of MODEL_RUNS) await checkModel(() => contract.newSubject(context), runs);
  });
  describe(`${name} › closing`, () => closing(promise, contract.hasVersion));
  describe(`${name} › writes`, () => writes(promise));
  describe(`${name} › changes`, () => changes(promise));
  describe(`${name} › keys`, () => keys(promise));
  describe(`${name} › reads`, () => reads(promise));
}

interface Opened {
  open: () => Promise<Store>;
  subject: Subject;
}

type PromiseOf = (
  title: string,
  keep: (store: MeasuredStore, more: Opened) => Promise<void>,
) => void;

function closing(promise: PromiseOf, hasVersion: boolean): void {
  promise('two closes at once both resolve, and later calls are refused', async (store) => {
    const creation = create(store);
    await Promise.all([store.close(), store.close()]);
    await creation;
    await assert.rejects(store.createPet(REX), { code: 'unavailable' });
    await assert.rejects(store.findPet(1n), { code: 'unavailable' });
  });

  promise('closing finishes what was accepted before', async (store, { open }) => {
    const creations = Array.from({ length: 50 }, () => create(store));
    await store.close();
    await Promise.all(creations);
    const reopened = await open();
    assert.equal(
      (await listPets(reopened, { status: undefined, afterId: 0n, count: 100 })).length,
      50,
    );
  });

  promise('ping resolves while the database responds', async (store) => {
    await store.ping();
  });

  promise(hasVersion ? 'the store has a version' : 'the store has no version', async (store) => {
    assert.equal('version' in store, hasVersion);
  });
}

function writes(promise: PromiseOf): void {
  promise('of 2,000 concurrent duplicates one creates, and all others replay it', async (store) => {
    const claim = newClaim('once', REX, await createKey(store));
    const creations = await Promise.all(
      Array.from({ length: 2_000 }, () => onceAdmitted(() => store.createPet(REX, claim))),
    );
    assert.deepEqual(creations[0], { kind: 'created', pet: { ...REX, id: 1n } });
    for (const creation of creations.slice(1)) {
      assert.deepEqual(creation, { kind: 'replayed', pet: { ...REX, id: 1n } });
    }
    assert.equal(await countPets(store), 1);
  });

  promise('expired claims are removed by later creates', async (store, { subject }) => {
    const apiKey = await createKey(store);
    for (const key of ['a', 'b', 'c', 'd']) await store.createPet(REX, newClaim(key, REX, apiKey));
    assert.equal(await subject.countClaims(), 4);
    const now = later(25 * HOUR_MS);
    for (const key of ['e', 'f']) await store.createPet(REX, newClaim(key, REX, apiKey, now));
    assert.equal(await subject.countClaims(), 2, 'only the new ones are left');
  });

  promise(
    'a create that fails stores neither animal nor claim, and nothing of its batch',
    async (store) => {
      const apiKey = await createKey(store);
      const nobody = newClaim('once', REX, { ...apiKey, id: 'key_of_nobody' });
      const settled = await Promise.allSettled(
        Array.from({ length: 21 }, (_, index) =>
          store.createPet(REX, index === 10 ? nobody : undefined),
        ),
      );
      for (const result of settled) {
        assert.ok(result.status === 'rejected' && result.reason instanceof Refusal);
        assert.equal(result.reason.code, 'unavailable');
      }
      assert.equal(await countPets(store), 0);
      assert.equal((await store.createPet(REX, newClaim('once', REX, apiKey))).kind, 'created');
    },
  );

  promise('creates that arrive together share commits', async (store, { subject }) => {
    const before = await subject.countCommits();
    await Promise.all(Array.from({ length: 60 }, () => create(store)));
    const commits = (await subject.countCommits()) - before;
    assert.ok(commits >= 1 && commits <= 5, `60 creates took ${commits} commits`);
  });

  promise(
    'the figures count the writes that wait, and the commits that they shared',
    async (store) => {
      const valueOf = (name: string, le?: string) =>
        store
          .figures()
          .flatMap((figure) =>
            figure.values.map((value) => ({ metricName: figure.name, ...value })),
          )
          .find(({ metricName, labels }) => metricName === name && labels['le'] === le)?.value;
      await create(store);
      await turn();
      const creations = [create(store), create(store)];
      assert.equal(valueOf('petstore_writes_waiting'), 2);
      await Promise.all(creations);
      await turn();
      assert.equal(valueOf('petstore_writes_waiting'), 0);
      assert.equal(valueOf('petstore_write_batch_size_sum'), 3);
      // PostgreSQL reports what it has counted for the report before.
      while (valueOf('petstore_pets') !== 3) await turn();
      assert.equal(valueOf('petstore_write_batch_size_bucket', '1'), 1);
      assert.equal(valueOf('petstore_write_batch_size_bucket', '2'), 2);
      assert.equal(valueOf('petstore_commit_duration_seconds_count'), 2);
    },
  );

  promise('beyond what may wait, a create is refused at once and stores nothing', async (store) => {
    const settled = await Promise.allSettled(
      Array.from({ length: 12_000 }, () => store.createPet(REX)),
    );
    const refused = settled.filter((result) => result.status === 'rejected');
    const codes = new Set(refused.map(({ reason }) => (reason as Refusal).code));
    assert.ok(codes.has('overloaded'));
    // A very slow machine may also let some wait for too long.
    assert.deepEqual(
      [...codes].filter((code) => code !== 'overloaded' && code !== 'unavailable'),
      [],
    );
    const stored = await countPets(store);
    assert.equal(stored, settled.length - refused.length);
    assert.ok(stored > 0);
    assert.equal((await create(store)).id, BigInt(stored + 1));
  });
}

function changes(promise: PromiseOf): void {
  promise(
    'of two who change the same animal, none overwrites the other unseen',
    async (store, { open }) => {
      await store.importPets(Array.from({ length: 5 }, () => ({ ...REX, categoryId: 0n })));
      const stores = [store, await open()];
      const done = new Map<bigint, bigint>();
      await Promise.all(
        Array.from({ length: 16 }, async (_, client) => {
          for (let round = 0; round < 10; round += 1) {
            const id = BigInt(1 + ((client + round) % 5));
            const seen = await storeAt(stores, client).findPet(id);
            assert.ok(seen !== undefined);
            const to = { ...seen, name: `${client} ${round}`, categoryId: seen.categoryId + 1n };
            const change = { from: seen, to };
            const conflicts = await storeAt(stores, client + round).changePets([change]);
            if (conflicts.length === 0) done.set(id, (done.get(id) ?? 0n) + 1n);
          }
        }),
      );
      const counts = (await listPets(store, EVERYTHING)).map(
        ({ id, categoryId }) => [id, categoryId] as const,
      );
      assert.deepEqual(new Map(counts), done);
      assert.ok(done.values().reduce((sum, count) => sum + count, 0n) >= 10n);
    },
  );

  promise('10,000 animals are changed in one call', async (store) => {
    await store.importPets(Array.from({ length: 10_001 }, () => REX));
    const seen = Array.from({ length: 10_000 }, (_, index) => ({ ...REX, id: BigInt(index + 1) }));
    const sold = seen.map((pet, index) => ({ ...pet, name: `${index}`, status: 'sold' as const }));
    const sales = seen.map((from, index) => ({ from, to: sold[index] ?? from }));
    assert.deepEqual(await store.changePets(sales), []);
    assert.deepEqual(await idsOf(store, 'available'), [10_001n]);
    assert.deepEqual(await store.findPet(9_999n), sold[9_998]);
    assert.deepEqual(await store.changePets(sold.map(removal)), []);
    assert.deepEqual(await idsOf(store), [10_001n]);
  });

  promise('of simultaneous changes each is whole', async (store, { open }) => {
    await store.importPets(Array.from({ length: 50 }, () => REX));
    const stores = [store, await open(), await open()];
    const seen = await listPets(store, EVERYTHING);
    const attempts = await Promise.all(
      Array.from({ length: 30 }, (_, index) => {
        const renames = seen.map((from) => ({ from, to: { ...from, name: `${index}` } }));
        // In opposite orders, so that two of them would wait for each other.
        if (index % 2 === 0) renames.reverse();
        return storeAt(stores, index).changePets(renames);
      }),
    );
    assert.deepEqual(
      attempts.map(({ length }) => length).toSorted((a, b) => a - b),
      [0, ...Array.from({ length: 29 }, () => 50)],
    );
    const name = `${attempts.findIndex(({ length }) => length === 0)}`;
    const changed = seen.map((pet) => ({ ...pet, name }));
    assert.deepEqual(await listPets(store, EVERYTHING), changed);
    const removals = await Promise.all(stores.map((each) => each.changePets(changed.map(removal))));
    assert.deepEqual(
      removals.map(({ length }) => length).toSorted((a, b) => a - b),
      [0, 50, 50],
    );
  });

  promise('of many that import the same piece at once, one stores it', async (store, { open }) => {
    const stores = [store, await open(), await open()];
    const to = { source: 'a', position: 10, lines: 2, imported: 2, skipped: 0 };
    const outcomes = await Promise.all(
      stores.map((each) => each.importPets([REX, TOM], { from: 0, to })),
    );
    assert.equal(outcomes.filter((isStored) => isStored).length, 1);
    assert.equal((await listPets(store, EVERYTHING)).length, 2);
  });

  promise('one animal that cannot be stored keeps all of them out', async (store) => {
    const wrong = { ...TOM, status: 'gone' } as unknown as NewPet;
    const to = { source: 'a', position: 10, lines: 2, imported: 2, skipped: 0 };
    await assert.rejects(store.importPets([REX, wrong], { from: 0, to }), { code: 'unavailable' });
    assert.deepEqual(await listPets(store, EVERYTHING), []);
    assert.equal(await store.findImport('a'), undefined);
  });
}

function keys(promise: PromiseOf): void {
  promise('of many that create the first key at once, one succeeds', async (store, { open }) => {
    const stores = [store, await open(), await open()];
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => storeAt(stores, index).createFirstApiKey(newKey())),
    );
    assert.equal(made.filter(Boolean).length, 1);
    assert.equal((await store.listApiKeys()).length, 1);
    assert.equal(await store.createFirstApiKey(newKey()), false);
  });

  promise(
    'of rotations of one key at once, beside a revocation, at most one succeeds',
    async (store, { open }) => {
      const stores = [store, await open(), await open()];
      for (let round = 0; round < 10; round += 1) {
        const old = await createKey(store);
        const rotations = stores.map((each) => {
          const successor = newKey({ now: later(1), firstKeyId: old.id });
          return each.rotateApiKey(old.id, later(HOUR_MS), successor);
        });
        await storeAt(stores, round).revokeApiKey(old.id, NOW);
        const rotated = (await Promise.all(rotations)).filter(Boolean).length;
        assert.ok(rotated <= 1, `${rotated} successors`);
        const chain = (await store.listApiKeys()).filter(({ firstKeyId }) => firstKeyId === old.id);
        assert.equal(chain.length, 1 + rotated);
        assert.equal(await store.rotateApiKey(old.id, later(2), newKey({ now: later(2) })), false);
      }
    },
  );

  promise(
    'of the uses that several processes record at once, the latest stays',
    async (store, { open }) => {
      const stores = [store, await open(), await open()];
      const made: string[] = [];
      for (let count = 0; count < 20; count += 1) made.push((await createKey(store)).id);
      await Promise.all(
        Array.from({ length: 30 }, (_, round) => {
          const order = round % 2 === 0 ? made : made.toReversed();
          const at = later(-round);
          const uses = order.map((id) => [id, { usedAt: at, deprecatedCallAt: at }] as const);
          return storeAt(stores, round).recordKeyUse(new Map(uses));
        }),
      );
      for (const { lastUsedAt, lastDeprecatedCallAt } of await store.listApiKeys()) {
        assert.deepEqual([lastUsedAt, lastDeprecatedCallAt], [NOW, NOW]);
      }
    },
  );
}

function reads(promise: PromiseOf): void {
  promise(
    'reads asked for at different moments each see all creates before them',
    async (store) => {
      const page = { status: undefined, afterId: 0n, count: 100 };
      for (let round = 1; round <= 20; round += 1) {
        const early = listPets(store, page);
        await create(store);
        const late = listPets(store, page);
        assert.ok((await early).length >= round - 1);
        assert.equal((await late).length, round);
      }
    },
  );

  promise(
    'a reader that follows the ids meets each animal once and misses none',
    async (store, { open }) => {
      const writers = [store, await open()];
      const reader = await open();
      const creates = 600;
      const expiry = await createKey(store);
      const written = Promise.all(
        Array.from({ length: creates }, async (_, index) => {
          // In waves, so that the reader finds the end of the list many times.
          await sleep((index % 20) * 10);
          const claim = index % 3 === 0 ? newClaim(`follow-${index}`, REX, expiry) : undefined;
          const attempt = () => storeAt(writers, index).createPet(REX, claim);
          return petOf(await onceAdmitted(attempt)).id;
        }),
      );
      let isDone = false;
      void written.finally(() => {
        isDone = true;
      });
      const met: bigint[] = [];
      for (let wasDone = false; ; wasDone = isDone) {
        const page = await listPets(reader, {
          status: undefined,
          afterId: met.at(-1) ?? 0n,
          count: 10,
        });
        met.push(...page.map(({ id }) => id));
        await turn();
        if (wasDone && page.length === 0) break;
      }
      assert.deepEqual(
        met,
        (await written).toSorted((one, other) => Number(one - other)),
      );
    },
  );

  promise(
    'a reader that walks back during creates meets each earlier animal once and misses none',
    async (store, { open }) => {
      await store.importPets(Array.from({ length: 300 }, () => REX));
      const reader = await open();
      const walk = { isDone: false };
      const creating = (async () => {
        let created = 0;
        for (; !walk.isDone; created += 1) await create(store);
        return created;
      })();
      const met: bigint[] = [];
      for (let upToId: bigint = INT64_MAX; ;) {
        const page = await listPets(reader, { status: undefined, upToId, count: 3 });
        const [first] = page;
        if (first === undefined) break;
        met.unshift(...page.map(({ id }) => id));
        upToId = first.id - 1n;
        await turn();
      }
      walk.isDone = true;
      assert.ok((await creating) > 0);
      assert.ok(met.length >= 300);
      assert.deepEqual(
        met,
        met.map((_, index) => BigInt(index + 1)),
      );
    },
  );
}

async function create(store: Store, pet: NewPet = REX): Promise<Pet> {
  return petOf(await store.createPet(pet));
}

/** A machine that stalls makes the store refuse creates as overloaded. Those have stored nothing. */
async function onceAdmitted(attempt: () => Promise<Creation>): Promise<Creation> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'overloaded') throw error;
      await sleep(20);
    }
  }
}

function petOf(creation: Creation): Pet {
  assert.ok(creation.kind !== 'claim_conflict');
  return creation.pet;
}

async function countPets(store: Store): Promise<number> {
  let total = 0;
  for (let afterId = 0n; ;) {
    const page = await listPets(store, { status: undefined, afterId, count: 1_000 });
    total += page.length;
    const last = page.at(-1);
    if (last === undefined) return total;
    afterId = last.id;
  }
}

function newKey(options: Partial<Parameters<typeof newApiKey>[0]> = {}): ApiKey {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'test', now: NOW, randomBytes, ...options });
}

async function createKey(store: Store): Promise<ApiKey> {
  const key = newKey();
  await store.createApiKey(key);
  return key;
}

function newClaim(key: string, pet: NewPet, { id }: ApiKey, now = NOW): IdempotencyClaim {
  return newIdempotencyClaim(key, pet, { apiKeyId: id, now });
}

function later(milliseconds: number): Date {
  return new Date(NOW.getTime() + milliseconds);
}

function storeAt(stores: Store[], index: number): Store {
  const store = stores[index % stores.length];
  assert.ok(store !== undefined);
  return store;
}

async function idsOf(store: Store, status?: PetStatus): Promise<bigint[]> {
  return (await listPets(store, { ...EVERYTHING, status })).map(({ id }) => id);
}

function removal(from: Pet) {
  return { from, to: undefined };
}

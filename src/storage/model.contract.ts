// Every store does what the simplest model does, whatever is done to it through several processes: random steps, and
// after each of them another process must show exactly the model. What the model cannot see is in store.contract.ts.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import { listPets } from '../../harness/list-pets.ts';
import { newApiKey, newSecret, SCOPES, type ApiKey } from '../domain/api-key.ts';
import { newIdempotencyClaim, type IdempotencyClaim } from '../domain/idempotency.ts';
import { INT64_MAX, INT64_MIN } from '../domain/int64.ts';
import { petJson } from '../domain/json.ts';
import type { PageRequest } from '../domain/page.ts';
import { PET_STATUSES, type NewPet, type Pet } from '../domain/pet.ts';
import type {
  Creation,
  ImportProgress,
  PetChange,
  PetConflict,
  PetPage,
  Store,
} from '../domain/store.ts';

const PROCESSES = 3;
const DAY_MS = 24 * 3_600_000;
const START_MS = Date.parse('2026-11-15T12:00:00Z');

class Model {
  readonly pets = new Map<bigint, Pet>();
  readonly claims = new Map<string, { pet: Pet; fingerprint: string; endsMs: number }>();
  readonly imports = new Map<string, ImportProgress>();
  keys: ApiKey[] = [];
  readonly rotated = new Set<ApiKey>();
  lastId = 0n;
  nowMs = START_MS;

  later(ms = 0): Date {
    return new Date(this.nowMs + ms);
  }

  create(pet: NewPet, claim?: IdempotencyClaim): Creation {
    const name = `${claim?.apiKeyId} ${claim?.key}`;
    const known = claim && this.claims.get(name);
    if (claim !== undefined && known !== undefined && known.endsMs > this.nowMs) {
      if (known.fingerprint !== claim.fingerprint) return { kind: 'claim_conflict' };
      return { kind: 'replayed', pet: known.pet };
    }
    const stored = { ...pet, id: (this.lastId += 1n) };
    this.pets.set(stored.id, stored);
    if (claim !== undefined) {
      const { fingerprint } = claim;
      this.claims.set(name, { pet: stored, fingerprint, endsMs: this.nowMs + DAY_MS });
    }
    return { kind: 'created', pet: stored };
  }

  /** PostgreSQL leaves gaps in the ids where processes store the same claim at once. */
  skipTo(created: Creation | undefined): void {
    if (created?.kind !== 'created') return;
    assert.ok(created.pet.id > this.lastId);
    this.lastId = created.pet.id - 1n;
  }

  list({ status, limit, ...from }: PageRequest): PetPage {
    const all = [...this.pets.values()].filter((pet) => (status ?? pet.status) === pet.status);
    const isBack = 'upToId' in from;
    const wanted = all.filter(({ id }) => (isBack ? id <= from.upToId : id > from.afterId));
    const shown = isBack ? wanted.slice(-limit) : wanted.slice(0, limit);
    const continuesAt = wanted.length > limit ? shown.at(isBack ? 0 : -1) : undefined;
    return { json: `[${shown.map(petJson).join(',')}]`, continuesAtId: continuesAt?.id };
  }

  change(changes: readonly PetChange[]): PetConflict[] {
    const conflicts: PetConflict[] = [];
    for (const { from, to } of changes) {
      const { id } = from;
      const pet = this.pets.get(id);
      if (pet === undefined) conflicts.push({ id, kind: 'gone' });
      else if (!isSame(pet, from) && !(to && isSame(pet, { ...to, id }))) {
        conflicts.push({ id, kind: 'changed' });
      }
    }
    for (const { from, to } of conflicts.length === 0 ? changes : []) {
      if (to === undefined) this.pets.delete(from.id);
      else this.pets.set(from.id, { ...to, id: from.id });
    }
    return conflicts;
  }

  addKey(key: ApiKey): void {
    const older = this.keys.filter((each) => isOlder(each, key));
    this.keys = [...older, key, ...this.keys.slice(older.length)];
  }
}

function isSame(one: Pet, other: Pet): boolean {
  return petJson(one) === petJson(other);
}

/** Keys are listed oldest first, and by id where they are equally old. */
function isOlder(one: ApiKey, other: ApiKey): boolean {
  const [first, second] = [one.createdAt.getTime(), other.createdAt.getTime()];
  return first === second ? one.id < other.id : first < second;
}

type Stores = Store[];

/** What is done to a store, and what the model says. Whether something was committed, if that is certain. */
type Step = (model: Model, store: Store, stores: Stores) => Promise<boolean | undefined>;

const REX: NewPet = { name: 'Rex', categoryId: 7n, status: 'sold' };
const STRANGE_NAMES = [
  "Robert'); DROP TABLE pets;--",
  '"quoted" \\ {a,NULL} \\"',
  'NULL',
  '{}',
  ' ',
  'line\nbreak\r\n\ttab',
  '\u0001\u007f\u0085\u2028\ufeff\uffff',
  'e\u0301 is not \u00e9',
  '🐈‍⬛'.repeat(63),
  '\u{10ffff}'.repeat(255),
];
const anyName = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
  .filter((name) => !name.includes('\0'));
const anyStatus = fc.constantFrom(...PET_STATUSES);
const anyPet: fc.Arbitrary<NewPet> = fc.record({
  name: fc.oneof(fc.constantFrom('Rex', ...STRANGE_NAMES), anyName),
  categoryId: fc.oneof(fc.constantFrom(INT64_MIN, INT64_MAX, 7n), fc.bigInt(INT64_MIN, INT64_MAX)),
  status: anyStatus,
});
const anyFields = fc
  .record(
    {
      name: fc.constantFrom('Bélla', 'Max'),
      categoryId: fc.constantFrom(INT64_MAX, 0n),
      status: anyStatus,
    },
    { requiredKeys: [] },
  )
  .filter((fields) => Object.keys(fields).length > 0);
/** Mostly one of the first animals that exist, at some index. */
const anyIndex = fc.nat(29);
/** One of the oldest or newest keys, or none. */
const anyKey = fc.nat(5);
const NOWHERE = [0n, -1n, INT64_MIN, INT64_MAX] as const;

function idAt({ pets, lastId }: Model, index: number): bigint {
  if (index >= 25) return NOWHERE[index - 25] ?? lastId + 1n;
  return [...pets.keys()][index % Math.max(1, pets.size)] ?? 1n;
}

function keyAt({ keys }: Model, index: number): ApiKey | undefined {
  return index < 3 ? keys[index] : keys.at(2 - index);
}

function idOf(creation: Creation | undefined): bigint {
  return creation?.kind === 'created' ? creation.pet.id : INT64_MAX;
}

const ascending = (one: bigint, other: bigint) => Number(one > other) - Number(one < other);

function newKey(model: Model, options: Partial<Parameters<typeof newApiKey>[0]> = {}): ApiKey {
  const secret = newSecret('production', randomBytes);
  return newApiKey({ secret, name: 'k', now: model.later(), randomBytes, ...options });
}

function isRefused(call: Promise<unknown>): Promise<void> {
  return assert.rejects(call, { name: 'Refusal' });
}

/** Creates that arrive together, at several processes. */
const creates = fc
  .array(
    fc.record({
      pet: fc.oneof(anyPet, fc.constant(REX)),
      claim: fc.option(fc.constantFrom('a', 'b')),
      key: fc.nat(1),
      process: fc.nat(PROCESSES - 1),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((all): Step => async (model, store, stores) => {
    const sent = all.map(({ pet, claim, key, process }) => {
      const apiKeyId = model.keys[key]?.id;
      const names = { apiKeyId: apiKeyId ?? '', now: model.later() };
      const isClaimed = claim !== null && apiKeyId !== undefined;
      return {
        pet,
        process,
        claim: isClaimed ? newIdempotencyClaim(claim, pet, names) : undefined,
      };
    });
    const found = await Promise.all(
      sent.map(async ({ pet, claim, process }) => stores[process]?.createPet(pet, claim)),
    );
    // Of creates that arrive together, those that were stored decide the order.
    const order = sent.map((create, index) => ({ ...create, creation: found[index] }));
    order.sort((one, other) => ascending(idOf(one.creation), idOf(other.creation)));
    const claiming = new Set(order.filter(({ claim }) => claim).map(({ process }) => process));
    const isContested = claiming.size > 1;
    if (isContested)
      order.push({ pet: REX, process: 0, claim: undefined, creation: await store.createPet(REX) });
    for (const { pet, claim, creation } of order) {
      if (isContested) model.skipTo(creation);
      assert.deepEqual(creation, model.create(pet, claim));
    }
    return found.some((creation) => creation?.kind === 'created') || undefined;
  });

/** A create that is sent again some time later, perhaps for another animal. */
const repeatedCreate = fc
  .record({
    pet: anyPet,
    other: fc.option(anyPet, { freq: 3 }),
    waitMs: fc.constantFrom(0, DAY_MS - 1, DAY_MS),
    key: fc.nat(1),
  })
  .map(({ pet, other, waitMs, key }): Step => async (model, store, stores) => {
    const apiKeyId = model.keys[key]?.id;
    if (apiKeyId === undefined) return undefined;
    const create = async (sent: NewPet, at: Store) => {
      const claim = newIdempotencyClaim('c', sent, { apiKeyId, now: model.later() });
      assert.deepEqual(await at.createPet(sent, claim), model.create(sent, claim));
    };
    await create(pet, store);
    model.nowMs += waitMs;
    for (const each of stores) await create(other ?? pet, each);
    return undefined;
  });

const find = fc.array(anyIndex, { minLength: 1, maxLength: 4 }).map((all): Step => {
  return async (model, store) => {
    const ids = all.map((index) => idAt(model, index));
    const found = await Promise.all(ids.map((id) => store.findPet(id)));
    assert.deepEqual(
      found,
      ids.map((id) => model.pets.get(id)),
    );
    return false;
  };
});

const list = fc
  .record({
    status: fc.option(anyStatus, { nil: undefined }),
    limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(100)),
    index: anyIndex,
    isBack: fc.boolean(),
  })
  .map(({ status, limit, index, isBack }): Step => async (model, store) => {
    const id = idAt(model, index);
    const query = { status, limit, ...(isBack ? { upToId: id } : { afterId: id }) };
    assert.deepEqual(await store.listPage(query), model.list(query));
    return false;
  });

/** Of animals as somebody has seen them, some of whom are not so any more. */
const change = fc
  .record({
    animals: fc.array(
      fc.record({
        index: anyIndex,
        stale: fc.option(anyFields, { nil: undefined, freq: 2 }),
        to: fc.option(fc.oneof(anyPet, anyFields), { nil: undefined, freq: 2 }),
      }),
      { maxLength: 4 },
    ),
    isRepeated: fc.boolean(),
  })
  .map(({ animals, isRepeated }): Step => async (model, store) => {
    const wanted = new Map(animals.map((each) => [idAt(model, each.index), each]));
    const changes = [...wanted].map(([id, { stale, to }]) => {
      const stored = { ...REX, ...model.pets.get(id), id };
      return { from: { ...stored, ...stale }, to: to && { ...stored, ...to } };
    });
    let isCommitted = false;
    for (let times = isRepeated ? 2 : 1; times > 0; times -= 1) {
      const conflicts = await store.changePets(changes);
      assert.deepEqual(conflicts, model.change(changes));
      isCommitted ||= conflicts.length === 0 && changes.length > 0;
    }
    return isCommitted || undefined;
  });

const importSome = fc
  .tuple(fc.array(anyPet, { maxLength: 3 }), fc.option(fc.constantFrom('x', 'y')), fc.nat(2))
  .map(([pets, source, behind]): Step => async (model, store) => {
    if (source === null) {
      assert.equal(await store.importPets(pets), true);
    } else {
      const before = model.imports.get(source);
      assert.deepEqual(await store.findImport(source), before);
      const position = before?.position ?? 0;
      const from = Math.max(0, position - behind);
      const counts = { lines: position + 3, imported: position + 2, skipped: position + 1 };
      const to = { source, position: position + 9, ...counts };
      const isStored = await store.importPets(pets, { from, to });
      assert.equal(isStored, from === position);
      if (!isStored) return undefined;
      model.imports.set(source, to);
    }
    for (const pet of pets) model.create(pet);
    return pets.length > 0 || undefined;
  });

const addKey = fc
  .record({
    name: fc.constantFrom('shop', 'Käse "🐈"'),
    scopes: fc.subarray([...SCOPES], { minLength: 1 }),
    days: fc.option(fc.nat(3)),
    uses: fc.option(fc.nat(9)),
    isRevoked: fc.boolean(),
    isLater: fc.boolean(),
  })
  .map(({ name, scopes, days, uses, isRevoked, isLater }): Step => async (model, store) => {
    if (isLater) model.nowMs += 1;
    const expiresAt = days === null ? undefined : model.later(days * DAY_MS + 10);
    const key = newKey(model, { name, scopes, expiresAt });
    if (model.keys.length === 0) assert.equal(await store.createFirstApiKey(key), true);
    else {
      assert.equal(await store.createFirstApiKey(key), false);
      if (isRevoked) key.revokedAt = model.later(2);
      if (uses !== null)
        [key.lastUsedAt, key.lastDeprecatedCallAt] = [model.later(uses), model.later(1)];
      await store.createApiKey(key);
    }
    await isRefused(store.createApiKey(key));
    await isRefused(store.createApiKey({ ...newKey(model), hash: key.hash }));
    model.addKey(key);
    return true;
  });

const revoke = anyKey.map((index): Step => async (model, store) => {
  const key = keyAt(model, index);
  for (const at of [model.later(5), model.later()]) {
    assert.equal(await store.revokeApiKey(key?.id ?? 'key_x', at), key !== undefined);
    if (key) key.revokedAt ??= at;
  }
  return undefined;
});

const rotate = fc
  .tuple(anyKey, fc.nat(2), fc.boolean())
  .map(([index, days, isTaken]): Step => async (model, store) => {
    const key = keyAt(model, index);
    model.nowMs += 1;
    const successor = newKey(model, key ? { firstKeyId: key.firstKeyId } : {});
    const endsAt = model.later(days * DAY_MS);
    const mayRotate =
      key !== undefined &&
      key.revokedAt === undefined &&
      (key.expiresAt === undefined || key.expiresAt > successor.createdAt) &&
      !model.rotated.has(key);
    if (mayRotate && isTaken) {
      // A successor that cannot be stored: then nothing ends either.
      await isRefused(store.rotateApiKey(key.id, endsAt, { ...successor, id: key.id }));
    }
    assert.equal(await store.rotateApiKey(key?.id ?? 'key_x', endsAt, successor), mayRotate);
    if (!mayRotate) return undefined;
    model.rotated.add(key);
    if (key.expiresAt === undefined || key.expiresAt > endsAt) key.expiresAt = endsAt;
    model.addKey(successor);
    return true;
  });

const recordUses = fc
  .array(fc.tuple(anyKey, fc.nat(9), fc.option(fc.nat(9))), { maxLength: 4 })
  .map((all): Step => async (model, store) => {
    const uses = new Map(
      all.map(([index, used, deprecated]) => [
        keyAt(model, index)?.id ?? 'key_x',
        {
          usedAt: model.later(used),
          deprecatedCallAt: deprecated === null ? undefined : model.later(deprecated),
        },
      ]),
    );
    await store.recordKeyUse(uses);
    for (const key of model.keys) {
      const { usedAt, deprecatedCallAt } = uses.get(key.id) ?? {};
      key.lastUsedAt = latest(key.lastUsedAt, usedAt);
      key.lastDeprecatedCallAt = latest(key.lastDeprecatedCallAt, deprecatedCallAt);
    }
    return undefined;
  });

function latest(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one !== undefined && other !== undefined && one > other ? one : (other ?? one);
}

const wait = fc.constantFrom(1, DAY_MS).map((ms): Step => async (model) => {
  model.nowMs += ms;
  return false;
});

/** How often each step is taken, for each once that all others are. */
const STEPS: readonly [name: string, weight: number, step: fc.Arbitrary<Step>][] = [
  ['creates', 6, creates],
  ['repeated create', 3, repeatedCreate],
  ['find', 2, find],
  ['list', 4, list],
  ['change', 8, change],
  ['import', 3, importSome],
  ['add a key', 4, addKey],
  ['revoke', 2, revoke],
  ['rotate', 4, rotate],
  ['record uses', 4, recordUses],
  ['wait', 1, wait],
];

interface Real {
  stores: Stores;
  open: () => Promise<Store>;
}

class Command implements fc.AsyncCommand<Model, Real> {
  readonly #name: string;
  readonly #process: number;
  readonly #step: Step;

  constructor(name: string, process: number, step: Step) {
    this.#name = name;
    this.#process = process;
    this.#step = step;
  }

  check(): boolean {
    return true;
  }

  toString(): string {
    return this.#name;
  }

  async run(model: Model, { stores }: Real): Promise<void> {
    const store = stores[this.#process] ?? assert.fail();
    const versions = stores.map((each) => each.version?.());
    const pets = [...model.pets.values()];
    const hasCommitted = await this.#step(model, store, stores);
    // A request that follows the response of another process begins in a later turn.
    await turn();
    for (const [index, each] of stores.entries()) {
      const [before, after] = [versions[index], each.version?.()];
      if (before === undefined || after === undefined) continue;
      // An animal that was changed is another object.
      const hasChanged = pets.some((pet) => model.pets.get(pet.id) !== pet);
      const at = `the version of process ${index}`;
      assert.equal(before.changes !== after.changes, hasChanged, at);
      if (hasCommitted === undefined) continue;
      assert.equal(before.commits !== after.commits, hasCommitted, at);
    }
    const reader = stores[(this.#process + 1) % stores.length] ?? assert.fail();
    const everything = { status: undefined, afterId: 0n, count: 1_000 };
    assert.deepEqual(await listPets(reader, everything), [...model.pets.values()]);
    assert.deepEqual(await reader.listApiKeys(), model.keys);
  }
}

/** All processes end, and start again. */
class Restart implements fc.AsyncCommand<Model, Real> {
  check(): boolean {
    return true;
  }

  toString(): string {
    return 'restart';
  }

  async run(_: Model, real: Real): Promise<void> {
    await Promise.all(real.stores.map((store) => store.close()));
    for (const index of real.stores.keys()) real.stores[index] = await real.open();
  }
}

/** Runs random steps on new databases. */
export async function checkModel(
  newDatabase: () => Promise<{ open: () => Promise<Store> }>,
  { runs, seed }: { runs: number; seed?: number },
): Promise<void> {
  const weighted = STEPS.flatMap(([name, weight, step]) =>
    Array.from({ length: weight }, () =>
      fc
        .tuple(fc.nat(PROCESSES - 1), step)
        .map(([process, run]) => new Command(name, process, run)),
    ),
  );
  const commands = [...weighted, fc.constant(new Restart())];
  const property = fc.asyncProperty(
    fc.commands(commands, { size: 'max', maxCommands: 60 }),
    async (all) => {
      const { open } = await newDatabase();
      const real: Real = { stores: [], open };
      try {
        for (let count = 0; count < PROCESSES; count += 1) real.stores.push(await open());
        await fc.asyncModelRun(() => ({ model: new Model(), real }), all);
      } finally {
        await Promise.all(real.stores.map((store) => store.close()));
      }
    },
  );
  await fc.assert(property, {
    numRuns: runs,
    endOnFailure: true,
    ...(seed === undefined ? {} : { seed }),
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLAUSES } from './clauses/all.ts';
import type { Deviation } from './deviations.test-server.ts';
import {
  KEY,
  openReferenceService,
  type ReferenceServiceOptions,
} from './reference-service.test-server.ts';
import { EMPTY_CATALOGUE, newPetText, ServiceUnderCheck } from './service-under-check.ts';
import { NoResponse, NotCheckable, verdictOf } from './verdict.ts';

const BEFORE_REMOVAL = new Date('2026-11-15T00:00:00Z');
const AFTER_REMOVAL = new Date('2031-01-01T00:00:00Z');
/** So many that the animals of one status do not fit into a list. */
const MANY_ANIMALS = 310;
/** The id of the first animal of the reference service. */
const FIRST_ID = 2n ** 60n + 1n;
const WITHOUT_STATUS = newPetText({ name: 'Rex', categoryId: 7n });

interface Circumstances {
  now?: Date;
  mayWrite?: boolean;
  /** The bodies of animals to add before. */
  add?: string[];
}

async function withService<Result>(
  options: ReferenceServiceOptions,
  use: (service: ServiceUnderCheck, methods: string[]) => Promise<Result>,
  { now = BEFORE_REMOVAL, mayWrite = true }: Circumstances = {},
): Promise<Result> {
  const { base, methods, close } = await openReferenceService(options);
  const subject = { base, key: KEY, mayWrite, now, run: 'test', unwantedCategoryId: 5n };
  try {
    return await use(new ServiceUnderCheck(subject), methods);
  } finally {
    await close();
  }
}

/** The verdict on one clause alone, and the number of animals that it tried to add. */
function judge(id: string, options: ReferenceServiceOptions, circumstances: Circumstances = {}) {
  const { add = [] } = circumstances;
  return withService(
    options,
    async (service, methods) => {
      const clause = CLAUSES.find((each) => each.id === id);
      assert.ok(clause?.kind === 'service');
      for (const body of add) await service.create(body);
      const verdict = await verdictOf(() => clause.check(service));
      const posts = methods.filter((method) => method === 'POST').length - add.length;
      return { ...verdict, posts };
    },
    circumstances,
  );
}

test('an animal that was added may be missing only from lists that are full, and not from getPet', async () => {
  const kind = async (animals: number, now: Date) =>
    (await judge('service.add', { animals, deviation: 'forgets what it added' }, { now })).kind;
  assert.equal(await kind(30, AFTER_REMOVAL), 'broken');
  assert.equal(await kind(MANY_ANIMALS, BEFORE_REMOVAL), 'broken');
  assert.equal(await kind(MANY_ANIMALS, AFTER_REMOVAL), 'not-checkable');
  const oldest = { animals: MANY_ANIMALS, deviation: 'lists the oldest first' } as const;
  assert.equal((await judge('service.add', oldest)).kind, 'kept');
});

test('the replacement of getPet is judged by an animal with a status, if the list can show it', async () => {
  const id = 'getPet.replacement';
  const hidden = {
    animals: MANY_ANIMALS,
    deviation: 'hides the newest animal from filters',
  } as const;
  assert.equal((await judge(id, hidden)).kind, 'not-checkable');
  const without = { deviation: 'gives no status where none was sent' } as const;
  const add = [WITHOUT_STATUS];
  assert.equal((await judge(id, { ...without, animals: 1 }, { add })).kind, 'kept');
  assert.equal((await judge(id, without, { add })).kind, 'not-checkable');
});

test('getPet without a valid key is judged with an animal that exists, if there is one', async () => {
  for (const id of ['getPet.401', 'Authentication.3.getPet']) {
    for (const [animals, petId] of [
      [1, FIRST_ID],
      [0, 1n],
    ] as const) {
      const verdict = await judge(id, { animals, deviation: 'requires no key' });
      assert.ok(verdict.kind === 'broken');
      assert.ok(verdict.request.startsWith(`GET /pets/${petId} with`), verdict.request);
    }
  }
});

test('limit and status together are judged by a status that two animals share', async () => {
  const id = 'listPets.limit-and-status';
  const add = [newPetText({ name: 'Rex', categoryId: 7n, status: 'sold' })];
  const deviation = 'loses the filter beside a limit of 1';
  const verdict = await judge(id, { animals: 3, deviation }, { add });
  assert.ok(verdict.kind === 'broken');
  assert.equal(verdict.request, 'GET /pets?limit=1&status=sold with the key');
  assert.equal((await judge(id, { animals: 3 })).kind, 'not-checkable');
  const nothing = { animals: 4, deviation: 'finds nothing by filter' } as const;
  assert.equal((await judge(id, nothing)).kind, 'kept');
});

test('pages are judged where the list links to them, and prev only where it is offered', async () => {
  const id = 'listPets.pages';
  const verdict = (deviation?: Deviation) => judge(id, { animals: 3, deviation });
  assert.equal((await verdict()).kind, 'kept');
  assert.equal((await verdict('links to no page before')).kind, 'kept');
  assert.equal((await verdict('links to no other page')).kind, 'not-checkable');
  assert.equal((await verdict('links to pages elsewhere')).kind, 'not-checkable');
  const same = await verdict('links as prev to the same page');
  assert.ok(same.kind === 'broken');
  assert.match(same.request, /from=2/);
  assert.equal(same.expected, 'none of the animals of the page that links to it as prev');
  assert.equal((await judge(id, { animals: 1 })).kind, 'not-checkable');
});

test('pages that others move by adding an animal meanwhile are not judged', async () => {
  const verdict = await withService(
    { animals: 3, deviation: 'adds an animal before every list of one' },
    (service) => {
      const clause = CLAUSES.find((each) => each.id === 'listPets.pages');
      assert.ok(clause?.kind === 'service');
      return verdictOf(() => clause.check(service));
    },
  );
  assert.equal(verdict.kind, 'not-checkable');
});

test('the default limit is judged with 21 animals, of which the check adds only those missing', async () => {
  const id = 'limit.default';
  const added = await judge(id, { animals: 5 });
  assert.deepEqual([added.kind, added.posts], ['kept', 16]);
  const refused = await judge(id, { deviation: 'looks categories up' });
  assert.deepEqual([refused.kind, refused.posts], ['not-checkable', 1]);

  const reading = { mayWrite: false };
  assert.equal((await judge(id, { animals: 20 }, reading)).kind, 'not-checkable');
  assert.equal((await judge(id, { animals: 21 }, reading)).kind, 'kept');
  const ten = { animals: 15, deviation: 'lists 10 by default' } as const;
  assert.equal((await judge(id, ten, reading)).kind, 'broken');
});

test('a limit that is not an integer may give as many animals as the largest limit', async () => {
  const deviation = 'reads a bad limit as no limit';
  for (const id of ['listPets.limit.integer', 'limit.minimum', 'limit.maximum']) {
    assert.equal((await judge(id, { animals: 100, deviation })).kind, 'kept');
    assert.equal((await judge(id, { animals: 101, deviation })).kind, 'broken');
  }
});

test('a category that was accepted is not tried again', async () => {
  const { kind, posts } = await judge('NewPet.categoryId.largest', {});
  assert.deepEqual([kind, posts], ['kept', 1]);
});

test('animals that were refused are looked for by status too', async () => {
  // A list shows the 90 animals first, and then only 10 of the 12 that are added.
  const oldest = { animals: 90, deviation: 'lists the oldest first' } as const;
  const add = Array.from({ length: 12 }, () => WITHOUT_STATUS);
  assert.equal((await judge('Errors.nothing-added', oldest, { add })).kind, 'kept');
  assert.equal((await judge('Errors.nothing-added', oldest)).kind, 'not-checkable');
  const forgetful = { deviation: 'forgets what it added' } as const;
  assert.equal((await judge('Errors.nothing-added', forgetful, { add })).kind, 'not-checkable');
});

test('without permission to write, no clause can add an animal', async () => {
  await withService(
    {},
    async (service, methods) => {
      const needsWrite = { name: 'NotCheckable', message: 'it needs --write' };
      await assert.rejects(service.create(WITHOUT_STATUS), needsWrite);
      assert.deepEqual(methods, []);
    },
    { mayWrite: false },
  );
});

test('a key that was refused is not sent again, and other credentials are', async () => {
  await withService({ deviation: 'refuses Bearer' }, async (service, methods) => {
    await service.probe();
    const refuses = { name: 'NotCheckable', message: 'the service refuses the key' };
    await assert.rejects(service.list(''), refuses);
    assert.equal((await service.list('', 'none')).status, 401);
    assert.equal(methods.length, 2);
  });
});

test('only a 201 with an animal counts as added', async () => {
  for (const [deviation, count] of [
    [undefined, 1],
    ['responds 200 to a create', 0],
    ['sends ids as strings', 0],
  ] as const) {
    await withService({ deviation }, async (service) => {
      await service.create(WITHOUT_STATUS);
      assert.equal(service.created.length, count);
    });
  }
});

test('a catalogue with too few animals, or with a fault, cannot be judged by', async () => {
  await withService({ animals: 2 }, async (service) => {
    assert.equal((await service.catalogueOf(2)).length, 2);
    const message = 'the catalogue shows 2 animals, and 3 are needed';
    await assert.rejects(service.catalogueOf(3), { name: 'NotCheckable', message });
  });
  await withService({}, async (service) => {
    assert.deepEqual(await service.catalogue(), []);
    await assert.rejects(service.catalogueOf(1), { message: EMPTY_CATALOGUE });
  });
  for (const deviation of ['lists without names', 'fails on lists', 'wraps the list'] as const) {
    await withService({ animals: 1, deviation }, async (service) => {
      await assert.rejects(service.catalogue(), NotCheckable);
      assert.equal(await service.anyAnimal(), undefined);
      await service.create(WITHOUT_STATUS);
      assert.equal((await service.anyAnimal())?.id, FIRST_ID + 1n);
    });
  }
});

test('a service that stops responding is a fault, not an empty catalogue', async () => {
  const service = await withService({}, (opened) => Promise.resolve(opened));
  await assert.rejects(service.anyAnimal(), NoResponse);
});

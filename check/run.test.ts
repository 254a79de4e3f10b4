import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTIONS } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import { KEY, openReferenceServer } from './reference.test-server.ts';
import { checkAddresses, type Finding } from './run.ts';
import type { ShopOptions } from './shop.test-server.ts';
import type { Verdict } from './verdict.ts';
import { FAULTS, LIBERTIES, type Fault, type Liberty } from './ways.test-server.ts';

const BEFORE_REMOVAL = new Date('2026-11-15T00:00:00Z');
const AFTER_REMOVAL = new Date('2031-01-01T00:00:00Z');
/** More than one list can show, so that every bound can be told. */
const ANIMALS = 130;

/** What a service at a single address on an ordinary day can never show. */
const NEVER_TOLD = [
  'staging.v1',
  'staging.interface',
  'listPets.pages',
  'getPet.deprecated',
  'Authentication.4',
  'version',
  'getPet.removed',
  'staging.prefix',
];

async function checkShops(
  shops: readonly ShopOptions[],
  { mayWrite = true, now = BEFORE_REMOVAL } = {},
) {
  const servers = await Promise.all(shops.map(openReferenceServer));
  try {
    const subject = { key: KEY, mayWrite, now, run: 'test', unwantedCategoryId: 1234567890123n };
    const outcome = await checkAddresses(servers.map(({ base }) => ({ ...subject, base })));
    const methods = servers.flatMap((server) => server.methods);
    return { ...outcome, methods };
  } finally {
    await Promise.all(servers.map(({ close }) => close()));
  }
}

function idsWith(findings: Finding[], kind: Verdict['kind']): string[] {
  return findings
    .filter(({ results }) => results.some(({ verdict }) => verdict.kind === kind))
    .map(({ clause }) => clause.id);
}

function untold(findings: Finding[]): string[] {
  return idsWith(findings, 'not-checkable').filter((id) => !NEVER_TOLD.includes(id));
}

test('a service that is right by the specification keeps every clause that can be told', async () => {
  const { findings } = await checkShops([{ animals: ANIMALS }]);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(idsWith(findings, 'not-checkable'), NEVER_TOLD);
});

test('an empty service is filled by the check, so that everything can be told', async () => {
  const { findings } = await checkShops([{}]);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(untold(findings), []);
});

test('read-only, no request is a POST and what needs one is said to be not checkable', async () => {
  const { findings, methods } = await checkShops([{ animals: ANIMALS }], { mayWrite: false });
  assert.deepEqual([...new Set(methods)], ['GET']);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  const writing = CLAUSES.filter((clause) => clause.kind === 'service' && clause.writes);
  assert.deepEqual(
    untold(findings),
    writing.map(({ id }) => id),
  );
});

test('read-only, an empty catalogue breaks nothing and proves little', async () => {
  const { findings } = await checkShops([{}], { mayWrite: false });
  assert.deepEqual(idsWith(findings, 'broken'), []);
  for (const id of ['Pet.id', 'Pet.id.unique', 'getPet.200', 'listPets.status.sold']) {
    assert.ok(untold(findings).includes(id), `${id} cannot be told without animals`);
  }
});

test('every clause has its own id and stands in the order of the specification', () => {
  assert.equal(new Set(CLAUSES.map(({ id }) => id)).size, CLAUSES.length);
  const sections = CLAUSES.map(({ section }) => SECTIONS.indexOf(section));
  const sorted = sections.toSorted((one, other) => one - other);
  assert.deepEqual(sections, sorted);
});

for (const [fault, clauses] of Object.entries(FAULTS) as [Fault, readonly string[]][]) {
  test(`a service that ${fault} breaks ${clauses.join(', ')}`, async () => {
    const now = fault === 'serves getPet in 2031' ? AFTER_REMOVAL : BEFORE_REMOVAL;
    const { findings } = await checkShops([{ way: fault, animals: ANIMALS }], { now });
    const broken = idsWith(findings, 'broken');
    const unnoticed = clauses.filter((id) => !broken.includes(id));
    assert.deepEqual(unnoticed, [], `broken were only ${broken.join(', ')}`);
  });
}

/** What an address beside the right one must be like for a clause about both to break. */
const PAIR_FAULTS: Record<string, (Fault | Liberty)[]> = {
  'staging.v1': ['mounted below /v2'],
  'staging.prefix': ['mounted below /v2'],
  'staging.interface': ['adds a field to animals', 'sends a header of its own', 'trims names'],
  'Authentication.4': ['accepts Basic'],
};

for (const [id, ways] of Object.entries(PAIR_FAULTS)) {
  for (const way of ways) {
    test(`a staging that ${way}, unlike production, breaks ${id}`, async () => {
      const { findings } = await checkShops([{ animals: ANIMALS }, { way, animals: ANIMALS }]);
      const broken = idsWith(findings, 'broken');
      assert.ok(broken.includes(id), `broken were only ${broken.join(', ')}`);
    });
  }
}

test('every clause that can break is broken by a fault', () => {
  const broken = new Set([...Object.values(FAULTS).flat(), ...Object.keys(PAIR_FAULTS)]);
  const breakable = CLAUSES.filter(({ kind }) => kind !== 'uncheckable').map(({ id }) => id);
  assert.deepEqual(new Set(breakable), broken);
});

for (const way of LIBERTIES) {
  test(`a service that ${way} breaks no clause, because the specification allows it`, async () => {
    const now = way === 'has removed getPet' ? AFTER_REMOVAL : BEFORE_REMOVAL;
    const { findings } = await checkShops([{ way, animals: ANIMALS }], { now });
    assert.deepEqual(idsWith(findings, 'broken'), []);
  });
}

test('a service that clamps the limit is not praised for it while it has too few animals to show it', async () => {
  const { findings } = await checkShops([{ way: 'clamps the limit', animals: 5 }]);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(untold(findings), ['limit.minimum', 'limit.maximum']);
});

test('on the day of the removal getPet may be there or gone', async () => {
  const now = new Date('2030-12-05T12:00:00Z');
  for (const way of ['has removed getPet', undefined] as const) {
    const { findings } = await checkShops([{ way, animals: ANIMALS }], { now });
    assert.deepEqual(idsWith(findings, 'broken'), []);
    assert.ok(untold(findings).includes('getPet.200'));
  }
});

test('two addresses with other animals but the same interface differ in nothing', async () => {
  const { findings, differences } = await checkShops([{ animals: ANIMALS }, {}]);
  assert.deepEqual(differences, []);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.ok(idsWith(findings, 'kept').includes('staging.interface'));
});

test('two addresses that differ have their differences listed one by one', async () => {
  const header = await checkShops([{ animals: 3 }, { way: 'sends a header of its own' }]);
  assert.ok(
    header.differences.includes('listPets 200: the header x-own is only at the second address'),
  );
  const field = await checkShops([{ way: 'adds a field to animals' }, { animals: 3 }]);
  assert.ok(
    field.differences.includes(
      'createPet 201: in the body, .owner: null is only at the first address',
    ),
  );
  const verdict = await checkShops([{ way: 'trims names' }, { animals: 3 }]);
  assert.deepEqual(verdict.differences, [
    'NewPet.name is broken at the first address and kept at the second',
  ]);
});

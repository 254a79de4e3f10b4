import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observation } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import type { Exchange } from './client.ts';
import { expectAdded, expectPet, expectPets, isRefused } from './expect.ts';
import { differencesOf } from './interface.ts';
import { ServiceUnderCheck } from './service-under-check.ts';
import { findFieldFault, findPetFault, PET_FIELDS } from './shapes.ts';
import { Broken, NotCheckable, verdictOf, type Verdict } from './verdict.ts';

const PET = { id: 1n, name: 'Rex', categoryId: 7n, status: 'sold' };
const ERROR = { code: 'refused', message: 'Refused.', status: 400n };
const SUBJECT = {
  base: 'http://pets.example/v1',
  key: 'key',
  mayWrite: true,
  now: new Date('2026-11-15T00:00:00Z'),
  run: 'test',
  unwantedCategoryId: 5n,
};

function exchange(values: Partial<Exchange>): Exchange {
  return {
    operation: 'listPets',
    credential: 'key',
    request: 'the request',
    response: 'the response',
    status: 200,
    contentType: 'application/json',
    headers: new Headers(),
    text: 'some text',
    body: [],
    ...values,
  };
}

const headersOf = (...names: string[]) => new Headers(names.map((name) => [name, '1']));
const list = (...body: unknown[]) => exchange({ body });
const created = (body: unknown) => exchange({ operation: 'createPet', status: 201, body });
const fetched = (body: unknown) => exchange({ operation: 'getPet', body });
const refused = (body: unknown, status = 400) => exchange({ status, body });

/** The verdict of a clause that judges the responses of a run. */
async function judge(id: string, exchanges: Exchange[], base = SUBJECT.base) {
  const clause = CLAUSES.find((each) => each.id === id);
  assert.ok(clause?.kind === 'service');
  const service = new ServiceUnderCheck({ ...SUBJECT, base });
  service.client.exchanges.push(...exchanges);
  return (await verdictOf(() => clause.check(service))).kind;
}

function observation(values: Partial<Observation>): Observation {
  return { base: SUBJECT.base, exchanges: [], verdicts: new Map(), ...values };
}

function differencesIn(one: Exchange[], other: Exchange[]): string[] {
  return differencesOf(observation({ exchanges: one }), observation({ exchanges: other }));
}

/** The verdict of a clause that compares two addresses. */
function judgePair(id: string, one: Partial<Observation>, other: Partial<Observation>) {
  const clause = CLAUSES.find((each) => each.id === id);
  assert.ok(clause?.kind === 'pair');
  return verdictOf(() => clause.check(observation(one), observation(other)));
}

test('every response with an animal is judged, whichever operation sent it', async () => {
  const wrong = { ...PET, id: '1', name: 7n, categoryId: '7', status: 'lost' };
  for (const id of ['Pet.id', 'Pet.name', 'Pet.categoryId', 'Pet.status']) {
    assert.equal(await judge(id, [list(PET), created(PET), fetched(PET)]), 'kept');
    for (const bad of [list(PET, wrong), created(wrong), fetched(wrong)]) {
      assert.equal(await judge(id, [list(PET), bad]), 'broken', `${id}: ${bad.operation}`);
    }
    const others = [refused([wrong]), exchange({ body: wrong }), refused(wrong)];
    assert.equal(await judge(id, others), 'not-checkable');
    assert.equal(await judge(id, [list(), created(PET)]), 'kept');
  }
});

test('no id may be given to two animals, and no list may show an animal twice', async () => {
  const other = { ...PET, id: 2n };
  assert.equal(await judge('Pet.id.unique', [created(PET), created(other), list(PET)]), 'kept');
  assert.equal(await judge('Pet.id.unique', [created(PET), created(PET)]), 'broken');
  assert.equal(await judge('Pet.id.unique', [list(PET, other, PET)]), 'broken');
  assert.equal(await judge('Pet.id.unique', [list(7n)]), 'kept');
});

test('every response from 400 on must have the Error body', async () => {
  for (const field of ['code', 'message', 'status']) {
    const bad = { ...ERROR, [field]: null };
    assert.equal(await judge(`Error.${field}`, [refused(ERROR), refused(ERROR, 500)]), 'kept');
    assert.equal(await judge(`Error.${field}`, [refused(ERROR), refused(bad)]), 'broken');
    assert.equal(await judge(`Error.${field}`, [list(bad)]), 'not-checkable');
    assert.equal(await judge('Errors.body', [refused(ERROR), refused(bad)]), 'broken');
  }
  assert.equal(await judge('Errors.status', [refused(ERROR), refused(ERROR, 401)]), 'broken');
  assert.equal(await judge('Errors.status', [refused(undefined)]), 'broken');
  assert.equal(await judge('Error.fields', [refused({ ...ERROR, path: '/' })]), 'broken');
  // What is not an object has no fields. Errors.body judges it.
  assert.equal(await judge('Error.fields', [refused(undefined)]), 'kept');
});

test('every body must be application/json, in any of its spellings', async () => {
  for (const contentType of ['application/json', 'Application/JSON ; charset=utf-8']) {
    assert.equal(await judge('bodies.responses', [exchange({ contentType })]), 'kept', contentType);
  }
  for (const contentType of ['application/jsonp;a', 'x-application/json', undefined]) {
    assert.equal(await judge('bodies.responses', [exchange({ contentType })]), 'broken');
  }
  assert.equal(await judge('bodies.responses', [exchange({ body: undefined })]), 'broken');
  const empty = exchange({ text: '', body: undefined, contentType: undefined });
  assert.equal(await judge('bodies.responses', [list(), empty]), 'kept');
  assert.equal(await judge('bodies.responses', [empty]), 'not-checkable');
});

test('an address must end in /v1, and staging must end like production', async () => {
  const inside = 'http://pets.example/v1/pets';
  const below = 'http://pets.example/store/v1';
  assert.equal(await judge('base-address.v1', [], below), 'kept');
  assert.equal(await judge('base-address.v1', [], inside), 'broken');
  assert.equal((await judgePair('staging.v1', {}, { base: below })).kind, 'kept');
  assert.equal((await judgePair('staging.v1', {}, { base: inside })).kind, 'broken');
  assert.equal((await judgePair('staging.prefix', {}, { base: below })).kind, 'kept');
  assert.equal((await judgePair('staging.prefix', {}, { base: inside })).kind, 'broken');
});

test('a list, an animal and a refusal are judged by status and body', () => {
  assert.deepEqual(expectPets(list(PET)), [PET]);
  for (const bad of [refused([PET]), exchange({ body: PET }), list(PET, { ...PET, id: '1' })]) {
    assert.throws(() => expectPets(bad), Broken);
  }
  assert.deepEqual(expectPet(fetched(PET), 200), PET);
  assert.throws(() => expectPet(fetched(PET), 201), Broken);
  assert.throws(() => expectPet(fetched(null), 200), Broken);

  expectAdded(created(PET), { name: 'Rex', categoryId: 7n });
  assert.throws(() => expectAdded(created(PET), { name: 'Rex', categoryId: 8n }), {
    name: 'Broken',
    expected: '201 with name "Rex", categoryId 8',
  });
  assert.throws(() => expectAdded(fetched(PET), { name: 'Rex' }), Broken);
  assert.throws(() => expectAdded(created(null), { name: 'Rex' }), Broken);

  assert.ok(isRefused(refused(ERROR)) && isRefused(refused(ERROR, 499)));
  assert.ok(!isRefused(refused(ERROR, 399)) && !isRefused(refused(ERROR, 500)));
  assert.throws(() => isRefused(refused({})), Broken);
});

test('a fault says what is wrong and shows the value', () => {
  const rule = 'name must be a string, not';
  const shown: [unknown, string][] = [
    [{}, `${rule} missing`],
    [{ name: 2n ** 63n }, `${rule} 9223372036854775808`],
    [{ name: [1n, 'a', null] }, `${rule} ["1","a",null]`],
    [Object.create({ name: 'inherited' }), `${rule} missing`],
    [null, 'null is not an object'],
    [[1n], '["1"] is not an object'],
    ['Rex', '"Rex" is not an object'],
    [undefined, 'missing is not an object'],
  ];
  for (const [value, fault] of shown) {
    assert.equal(findFieldFault(value, PET_FIELDS.name), fault);
  }
  assert.equal(findPetFault(PET), undefined);
  assert.equal(findPetFault({ ...PET, categoryId: 1.5 })?.startsWith('categoryId must be'), true);
});

test('an error that is no verdict is a fault of the check, and is not hidden', async () => {
  const bug = new Error('a bug');
  await assert.rejects(
    verdictOf(() => Promise.reject(bug)),
    bug,
  );
  const notCheckable = verdictOf(() => Promise.reject(new NotCheckable('no animals')));
  assert.deepEqual(await notCheckable, { kind: 'not-checkable', why: 'no animals' });
});

test('two addresses differ in headers and bodies of the same kind of response', () => {
  const one = [
    exchange({
      headers: headersOf('date', 'x-one', 'etag'),
      body: [{ id: 1n, tags: [{ a: [1n] }] }],
    }),
    exchange({ status: 404, headers: headersOf('x-unknown'), body: undefined }),
    created({ id: 1n }),
    fetched(null),
  ];
  const other = [
    exchange({
      headers: headersOf('via', 'x-two', 'etag'),
      body: [{ id: 'a', tags: [{ a: ['b'] }] }],
    }),
    created([]),
    fetched(undefined),
  ];
  assert.deepEqual(differencesIn(one, other), [
    'listPets 200: the header x-one is only at the first address',
    'listPets 200: the header x-two is only at the second address',
    'listPets 200: in the body, [].id: integer is only at the first address',
    'listPets 200: in the body, [].id: string is only at the second address',
    'createPet 201: in the body, the whole: object is only at the first address',
    'createPet 201: in the body, .id: integer is only at the first address',
    'createPet 201: in the body, the whole: array is only at the second address',
    'getPet 200: in the body, the whole: null is only at the first address',
    'getPet 200: in the body, the whole: not JSON is only at the second address',
  ]);
});

test('the shape of bodies is compared to a depth of four', () => {
  const differing = [
    fetched({ a: { b: { c: { d: 1n } } } }),
    fetched({ a: { b: { c: { d: '' } } } }),
  ];
  assert.equal(differencesIn(differing.slice(0, 1), differing.slice(1)).length, 2);
  const deeper = [fetched({ a: [[[{ d: 1n }]]] }), fetched({ a: [[[{ d: '' }]]] })];
  assert.deepEqual(differencesIn(deeper.slice(0, 1), deeper.slice(1)), []);
});

test('an empty list is no difference to a list with animals, but another type is', () => {
  assert.deepEqual(differencesIn([list(PET)], [list()]), []);
  assert.deepEqual(differencesIn([list()], [list(PET)]), []);
  assert.deepEqual(differencesIn([list(), exchange({ body: null })], [list(PET)]), [
    'listPets 200: in the body, the whole: null is only at the first address',
  ]);
});

test('a clause is a difference if one address keeps it and the other breaks it', async () => {
  const kept: Verdict = { kind: 'kept' };
  const broken: Verdict = { kind: 'broken', request: '', response: '', expected: '' };
  const unknown: Verdict = { kind: 'not-checkable', why: '' };
  const one = new Map<string, Verdict>([
    ['Authentication.1', kept],
    ['Errors.Authentication.', kept],
    ['Limits', kept],
    ['Pets', unknown],
    ['Pet', kept],
    ['missing', kept],
  ]);
  const other = new Map<string, Verdict>([
    ['Authentication.1', broken],
    ['Errors.Authentication.', broken],
    ['Limits', kept],
    ['Pets', broken],
    ['Pet', unknown],
  ]);
  const sentence = 'Authentication.1 is kept at the first address and broken at the second';
  assert.deepEqual(
    differencesOf(observation({ verdicts: one }), observation({ verdicts: other })),
    [sentence, 'Errors.Authentication. is kept at the first address and broken at the second'],
  );
  const request = 'the same requests to both addresses';
  const expected = 'no difference';
  assert.deepEqual(await judgePair('Authentication.4', { verdicts: one }, { verdicts: other }), {
    kind: 'broken',
    request,
    response: sentence,
    expected,
  });
  assert.deepEqual(await judgePair('staging.interface', { verdicts: one }, { verdicts: other }), {
    kind: 'broken',
    request,
    response: `${sentence}; and 1 more, see below`,
    expected,
  });
  assert.equal((await judgePair('staging.interface', {}, {})).kind, 'kept');
});

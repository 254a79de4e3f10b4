import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLAUSES } from './clauses/all.ts';
import type { Exchange } from './client.ts';
import { expectAdded, expectPet, expectPets, isRefused } from './expect.ts';
import { ServiceUnderCheck } from './service-under-check.ts';
import { findFieldFault, findPetFault, PET_FIELDS } from './shapes.ts';
import { Broken, NotCheckable, verdictOf } from './verdict.ts';

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

test('an address must end in /v1', async () => {
  const inside = 'http://pets.example/v1/pets';
  const below = 'http://pets.example/store/v1';
  assert.equal(await judge('base-address.v1', [], below), 'kept');
  assert.equal(await judge('base-address.v1', [], inside), 'broken');
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

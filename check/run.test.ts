import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SECTIONS } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import { FAULTS, PERMITTED_DEVIATIONS, type Fault } from './deviations.test-server.ts';
import {
  KEY,
  openReferenceService,
  type ReferenceServiceOptions,
} from './reference-service.test-server.ts';
import { checkService, serviceClausesInRunOrder, Unreachable, type Finding } from './run.ts';
import { ServiceUnderCheck } from './service-under-check.ts';
import { verdictOf, type Verdict } from './verdict.ts';

const BEFORE_REMOVAL = new Date('2026-11-15T00:00:00Z');
const AFTER_REMOVAL = new Date('2031-01-01T00:00:00Z');
/** More animals than one list can return, so that every bound can be judged. */
const ANIMALS = 130;
/** More animals than a list returns by default: enough for the clauses that do not judge the largest limit. */
const FEW_ANIMALS = 30;

/** The clauses that cannot be judged at a single address before the removal of getPet. */
const NEVER_JUDGED = [
  'staging.v1',
  'staging.interface',
  'getPet.deprecated',
  'Authentication.4',
  'version',
  'getPet.removed',
  'staging.prefix',
];

/** The clauses that send POST. */
const WRITING = [
  'bodies.requests',
  'service.add',
  'NewPet.name',
  'NewPet.categoryId',
  'NewPet.categoryId.largest',
  'NewPet.categoryId.smallest',
  'NewPet.status',
  'Pet.id.assigned',
  'PetStatus.available',
  'PetStatus.pending',
  'PetStatus.sold',
  'PetStatus.exactly',
  'createPet.201',
  'createPet.body',
  'createPet.400',
  'createPet.401',
  'Authentication.1.createPet',
  'Authentication.2.createPet',
  'Authentication.3.createPet',
  'Errors.400.name.missing',
  'Errors.400.categoryId.missing',
  'Errors.400.name.invalid',
  'Errors.400.categoryId.type',
  'Errors.400.categoryId.range',
  'Errors.400.status.type',
  'Errors.400.object',
  'Errors.400.json',
  'Errors.nothing-added',
  'Errors.401.createPet',
];

/** The clauses that judge what all others have sent or added. */
const LAST = [
  'bodies.responses',
  'Pet.id',
  'Pet.id.unique',
  'Pet.name',
  'Pet.categoryId',
  'Error.code',
  'Error.message',
  'Error.status',
  'Error.fields',
  'Pet.status',
  'Errors.body',
  'Errors.status',
  'Errors.nothing-added',
];

interface Circumstances {
  mayWrite?: boolean;
  now?: Date;
  /** The clauses that are judged, if not all. */
  only?: readonly string[];
}

/** Clauses whose exchanges the last ones can judge: an animal that is added, listed and fetched, and refusals. */
const EXCHANGES = [
  'createPet.201',
  'listPets.200',
  'listPets.401',
  'getPet.200',
  'Errors.400.name.invalid',
  'Errors.400.categoryId.type',
];

async function check(
  options: ReferenceServiceOptions,
  { mayWrite = true, now = BEFORE_REMOVAL, only }: Circumstances = {},
) {
  const { base, methods, close } = await openReferenceService(options);
  try {
    const writing = { base, key: KEY, mayWrite, now, run: 'test' };
    const subject = { ...writing, unwantedCategoryId: 1234567890123n };
    const findings = await (only === undefined
      ? checkService(subject)
      : checkOnly(only, new ServiceUnderCheck(subject)));
    requireEvidence(findings);
    return { findings, methods };
  } finally {
    await close();
  }
}

async function checkOnly(ids: readonly string[], service: ServiceUnderCheck): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const clause of serviceClausesInRunOrder().filter(({ id }) => ids.includes(id))) {
    findings.push({ clause, verdict: await verdictOf(() => clause.check(service)) });
  }
  return findings;
}

/** Every broken clause must say what was sent, what came back, and what was expected. */
function requireEvidence(findings: Finding[]): void {
  for (const { clause, verdict } of findings) {
    if (verdict.kind !== 'broken') continue;
    const { request, response, expected } = verdict;
    assert.ok(request && response && expected, `${clause.id}: ${JSON.stringify(verdict)}`);
  }
}

function idsWith(findings: Finding[], kind: Verdict['kind']): string[] {
  return findings.filter(({ verdict }) => verdict.kind === kind).map(({ clause }) => clause.id);
}

function unjudged(findings: Finding[]): string[] {
  return idsWith(findings, 'not-checkable').filter((id) => !NEVER_JUDGED.includes(id));
}

test('a service that follows the specification keeps every clause that can be judged', async () => {
  const { findings } = await check({ animals: ANIMALS });
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(idsWith(findings, 'not-checkable'), NEVER_JUDGED);
});

test('the check adds animals to an empty service, so that every clause can be judged', async () => {
  const { findings } = await check({});
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(unjudged(findings), []);
});

test('without --write the check sends no POST, and the clauses that need one are not checkable', async () => {
  const { findings, methods } = await check({ animals: ANIMALS }, { mayWrite: false });
  assert.deepEqual([...new Set(methods)], ['GET']);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(unjudged(findings), WRITING);
  for (const { clause, verdict } of findings) {
    assert.equal(clause.kind === 'service' && clause.writes, WRITING.includes(clause.id));
    if (!WRITING.includes(clause.id)) continue;
    assert.deepEqual(verdict, { kind: 'not-checkable', why: 'it needs --write' });
  }
});

test('each clause runs once: those that add animals first, those that judge all others last', () => {
  const order = serviceClausesInRunOrder();
  const phases = order.map(({ id, writes }) => (LAST.includes(id) ? 2 : writes ? 0 : 1));
  assert.deepEqual(
    phases,
    phases.toSorted((one, other) => one - other),
  );
  assert.deepEqual(
    order.slice(-LAST.length).map(({ id }) => id),
    LAST,
  );
  const services = CLAUSES.filter(({ kind }) => kind === 'service');
  assert.deepEqual(new Set(order), new Set(services));
  assert.equal(order.length, services.length);
});

test('an address without a response to the first request ends the check', async () => {
  const { base, close } = await openReferenceService({});
  await close();
  const subject = { base, key: KEY, mayWrite: false, now: BEFORE_REMOVAL, run: 'test' };
  await assert.rejects(checkService({ ...subject, unwantedCategoryId: 1n }), (error) => {
    assert.ok(error instanceof Unreachable);
    assert.equal(
      error.message,
      `${base} cannot be reached (no response: ECONNREFUSED): start the service, or give its address.`,
    );
    return true;
  });
});

test('without --write an empty catalogue breaks no clause, and clauses that need animals are not checkable', async () => {
  const { findings } = await check({}, { mayWrite: false });
  assert.deepEqual(idsWith(findings, 'broken'), []);
  for (const id of ['Pet.id', 'Pet.id.unique', 'getPet.200', 'listPets.status.sold']) {
    assert.ok(unjudged(findings).includes(id), `${id} cannot be judged without animals`);
  }
});

test('every clause has a unique id, and the clauses are in the order of the specification', () => {
  assert.equal(new Set(CLAUSES.map(({ id }) => id)).size, CLAUSES.length);
  const sections = CLAUSES.map(({ section }) => SECTIONS.indexOf(section));
  const sorted = sections.toSorted((one, other) => one - other);
  assert.deepEqual(sections, sorted);
  const status = CLAUSES.find(({ id }) => id === 'Pet.status');
  assert.equal(status?.section, 'States and transitions');
});

for (const [fault, clauses] of Object.entries(FAULTS) as [Fault, readonly string[]][]) {
  test(`a service that ${fault} breaks ${clauses.join(', ')}`, async () => {
    const now = fault === 'serves getPet in 2031' ? AFTER_REMOVAL : BEFORE_REMOVAL;
    const animals = clauses.includes('limit.maximum') ? ANIMALS : FEW_ANIMALS;
    const only = [...EXCHANGES, ...clauses];
    const { findings } = await check({ deviation: fault, animals }, { now, only });
    const broken = idsWith(findings, 'broken');
    const undetected = clauses.filter((id) => !broken.includes(id));
    assert.deepEqual(undetected, [], `only these clauses were broken: ${broken.join(', ')}`);
  });
}

test('every clause that can break is broken by a fault', () => {
  const broken = new Set<string>(Object.values(FAULTS).flat());
  const breakable = CLAUSES.filter(({ kind }) => kind !== 'uncheckable').map(({ id }) => id);
  assert.deepEqual(new Set(breakable), broken);
});

for (const deviation of PERMITTED_DEVIATIONS) {
  test(`a service that ${deviation} breaks no clause, because the specification allows it`, async () => {
    const now = deviation === 'has removed getPet' ? AFTER_REMOVAL : BEFORE_REMOVAL;
    const { findings } = await check({ deviation, animals: ANIMALS }, { now });
    assert.deepEqual(idsWith(findings, 'broken'), []);
  });
}

test('a service that clamps the limit with too few animals to show it leaves those clauses not checkable', async () => {
  const { findings } = await check({ deviation: 'clamps the limit', animals: 5 });
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(unjudged(findings), ['limit.minimum', 'limit.maximum']);
});

test('on 5 December 2030 a service may have removed getPet or still serve it', async () => {
  const now = new Date('2030-12-05T12:00:00Z');
  for (const deviation of ['has removed getPet', undefined] as const) {
    const { findings } = await check({ deviation, animals: ANIMALS }, { now });
    assert.deepEqual(idsWith(findings, 'broken'), []);
    assert.deepEqual(unjudged(findings), [
      'service.fetch',
      'getPet.200',
      'getPet.petId',
      'getPet.401',
      'getPet.404',
      'Authentication.1.getPet',
      'Authentication.2.getPet',
      'Authentication.3.getPet',
      'Errors.401.getPet',
      'Errors.404',
    ]);
  }
});

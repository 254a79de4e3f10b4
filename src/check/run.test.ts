import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clause } from './clause.ts';
import { SECTIONS } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import { FAULTS, type Fault } from './faults.test-server.ts';
import { KEY, openReferenceServer, type ReferenceOptions } from './reference.test-server.ts';
import { checkAddresses, type Finding } from './run.ts';
import type { Verdict } from './verdict.ts';

const BEFORE_REMOVAL = new Date('2026-11-15T00:00:00Z');
const AFTER_REMOVAL = new Date('2031-01-01T00:00:00Z');
/** More than one list can show, so that every bound can be told. */
const ANIMALS = 130;

interface RunOptions {
  mayWrite?: boolean;
  now?: Date;
}

async function checkReference(
  servers: readonly ReferenceOptions[],
  { mayWrite = true, now = BEFORE_REMOVAL }: RunOptions = {},
) {
  const opened = await Promise.all(servers.map(openReferenceServer));
  try {
    const subject = { key: KEY, mayWrite, now, run: 'test', unwantedCategoryId: 1234567890123n };
    const findings = await checkAddresses(opened.map(({ base }) => ({ ...subject, base })));
    return { findings, methods: opened.flatMap(({ methods }) => methods) };
  } finally {
    await Promise.all(opened.map(({ close }) => close()));
  }
}

function idsWith(findings: Finding[], kind: Verdict['kind']): string[] {
  return findings
    .filter(({ results }) => results.some(({ verdict }) => verdict.kind === kind))
    .map(({ clause }) => clause.id);
}

function whyNot(findings: Finding[], id: string): string {
  const verdict = findings.find(({ clause }) => clause.id === id)?.results[0]?.verdict;
  return verdict?.kind === 'not-checkable' ? verdict.why : `it is ${verdict?.kind}`;
}

const canBreak = (clause: Clause) => clause.kind !== 'uncheckable';

test('a service that is right by the specification breaks no clause, and all but five can be told', async () => {
  const { findings } = await checkReference([{ animals: ANIMALS }]);
  assert.deepEqual(idsWith(findings, 'broken'), []);
  assert.deepEqual(idsWith(findings, 'not-checkable'), [
    'staging.v1',
    'staging.interface',
    'listPets.pages',
    'getPet.deprecated',
    'Authentication.4',
    'version',
    'getPet.removed',
    'staging.prefix',
  ]);
});

test('every clause has its own id and stands in the order of the specification', () => {
  assert.equal(new Set(CLAUSES.map(({ id }) => id)).size, CLAUSES.length);
  const sections = CLAUSES.map(({ section }) => SECTIONS.indexOf(section));
  assert.deepEqual(
    sections,
    sections.toSorted((one, other) => one - other),
  );
});

const brokenByFaults = new Set<string>();

for (const [fault, clauses] of Object.entries(FAULTS) as [Fault, readonly string[]][]) {
  test(`a service that ${fault} breaks ${clauses.join(', ')}`, async () => {
    const now = fault === 'serves getPet in 2031' ? AFTER_REMOVAL : BEFORE_REMOVAL;
    const { findings } = await checkReference([{ fault, animals: ANIMALS }], { now });
    const broken = idsWith(findings, 'broken');
    assert.deepEqual(
      clauses.filter((id) => !broken.includes(id)),
      [],
      `broken were only ${broken.join(', ')}`,
    );
    for (const id of broken) brokenByFaults.add(id);
  });
}

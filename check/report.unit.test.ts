import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clause } from './clause.ts';
import { CREDENTIALS } from './credentials.ts';
import { newReport, summaryOf } from './report.ts';
import type { Finding, Outcome } from './run.ts';
import type { Subject } from './service-under-check.ts';
import type { Verdict } from './verdict.ts';

const KEY = 'secret/key+0123456789"Z';
const SUBJECT: Subject = {
  base: 'http://pets.example/v1',
  key: KEY,
  mayWrite: false,
  now: new Date('2026-11-15T00:00:00Z'),
  run: 'test',
  unwantedCategoryId: 5n,
};
const CLAUSE = { id: 'one', section: 'Errors', sentence: 'A promise.' } as const;
const READING: Clause = { ...CLAUSE, kind: 'service', writes: false, check: () => {} };
const WRITING: Clause = { ...READING, id: 'two', writes: true };
const PAIR: Clause = { ...CLAUSE, id: 'three', kind: 'pair', check: () => {} };

function reportOf(findings: Finding[], differences: string[] = [], subjects = [SUBJECT]) {
  return newReport(subjects, { findings, differences });
}

/** The text as a report shows it. */
function shown(text: string): string | undefined {
  const verdict: Verdict = { kind: 'not-checkable', why: text };
  const { clauses } = reportOf([{ clause: READING, results: [{ base: undefined, verdict }] }]);
  return clauses[0]?.results[0]?.why;
}

test('the report shows every verdict with its reason, and counts them', () => {
  const broken: Verdict = { kind: 'broken', request: 'GET', response: '500', expected: '200' };
  const { base } = SUBJECT;
  const outcome: Outcome = {
    findings: [
      { clause: READING, results: [{ base, verdict: { kind: 'kept' } }] },
      {
        clause: WRITING,
        results: [
          { base, verdict: broken },
          { base, verdict: { kind: 'kept' } },
        ],
      },
      {
        clause: PAIR,
        results: [{ base: undefined, verdict: { kind: 'not-checkable', why: 'one address' } }],
      },
    ],
    differences: ['a header'],
  };
  const report = newReport([SUBJECT], outcome);
  assert.deepEqual(report, {
    specification: 'Pet Store Service Specification, interface version 1.0.0',
    addresses: [base],
    write: false,
    clauses: [
      { ...CLAUSE, writes: false, results: [{ address: base, verdict: 'kept' }] },
      {
        ...CLAUSE,
        id: 'two',
        writes: true,
        results: [
          { address: base, verdict: 'broken', request: 'GET', answer: '500', expected: '200' },
          { address: base, verdict: 'kept' },
        ],
      },
      {
        ...CLAUSE,
        id: 'three',
        writes: false,
        results: [{ address: null, verdict: 'not-checkable', why: 'one address' }],
      },
    ],
    differences: ['a header'],
    totals: { kept: 2, broken: 1, notCheckable: 1 },
  });
  assert.equal(summaryOf(report), '2 kept, 1 broken, 1 not checkable');
});

test('the report says that the check may write if it may at one of the addresses', () => {
  const subjects = [SUBJECT, { ...SUBJECT, mayWrite: true }];
  assert.equal(reportOf([], [], subjects).write, true);
});

test('the report shows at most 100 differences', () => {
  const differences = Array.from({ length: 101 }, (_, index) => `difference ${index}`);
  assert.deepEqual(reportOf([], differences).differences, differences.slice(0, 100));
});

test('the report hides the key of each address, in every form that was sent', () => {
  const other = { ...SUBJECT, key: 'another-key' };
  const sent = [SUBJECT, other].flatMap(({ key }) =>
    Object.values(CREDENTIALS).map(({ header }) => header(key) ?? ''),
  );
  const forms = sent.flatMap((text) => [text, JSON.stringify(text), encodeURIComponent(text)]);
  for (const shownForm of reportOf([], forms, [SUBJECT, other]).differences) {
    assert.match(shownForm, /^"?(?:(?:Bearer|Basic)?(?: |%20)?\(the key\)|Bearer)?"?$/);
  }
  // A part of a longer secret would remain if a shorter one were replaced first.
  const percent = { ...SUBJECT, key: 'key%' };
  assert.deepEqual(reportOf([], ['x key%25 y'], [percent]).differences, ['x (the key) y']);
  const longer = { ...SUBJECT, key: `${KEY}-and-more` };
  assert.deepEqual(reportOf([], [longer.key], [SUBJECT, longer]).differences, ['(the key)']);
});

test('the report shows text in one line, without characters that steer a terminal', () => {
  assert.equal(shown('one\r\n\t  two\nthree'), 'one two three');
  assert.equal(
    shown('\u001B[2J \u202E \u2028 \u2029 é'),
    String.raw`\u{1b}[2J \u{202e} \u{2028} \u{2029} é`,
  );
});

test('the report shows the first 400 characters of a text', () => {
  assert.equal(shown('x'.repeat(400)), 'x'.repeat(400));
  assert.equal(shown('x'.repeat(401)), `${'x'.repeat(400)} …`);
});

test('the wrong key differs from the key in its last character only', () => {
  const { header } = CREDENTIALS['wrong key'];
  assert.equal(header('Abc'), 'Bearer AbA');
  assert.equal(header('bcA'), 'Bearer bcB');
});

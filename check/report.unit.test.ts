import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clause } from './clause.ts';
import { CREDENTIALS } from './credentials.ts';
import { newReport, summaryOf } from './report.ts';
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
const UNCHECKABLE: Clause = { ...CLAUSE, id: 'three', kind: 'uncheckable', why: 'two addresses' };

/** The text as a report shows it. */
function shown(text: string, subject = SUBJECT): string | undefined {
  const verdict: Verdict = { kind: 'not-checkable', why: text };
  return newReport(subject, [{ clause: READING, verdict }]).clauses[0]?.why;
}

test('the report shows every verdict with its reason, and counts them', () => {
  const report = newReport(SUBJECT, [
    { clause: READING, verdict: { kind: 'kept' } },
    {
      clause: WRITING,
      verdict: { kind: 'broken', request: 'GET', response: '500', expected: '200' },
    },
    { clause: UNCHECKABLE, verdict: { kind: 'not-checkable', why: 'two addresses' } },
  ]);
  assert.deepEqual(report, {
    specification: 'Pet Store Service Specification, interface version 1.0.0',
    address: SUBJECT.base,
    write: false,
    clauses: [
      { ...CLAUSE, writes: false, verdict: 'kept' },
      {
        ...CLAUSE,
        id: 'two',
        writes: true,
        verdict: 'broken',
        request: 'GET',
        response: '500',
        expected: '200',
      },
      { ...CLAUSE, id: 'three', writes: false, verdict: 'not-checkable', why: 'two addresses' },
    ],
    totals: { kept: 1, broken: 1, notCheckable: 1 },
  });
  assert.equal(summaryOf(report), '1 kept, 1 broken, 1 not checkable');
});

test('the report hides the key in every form that was sent', () => {
  const sent = Object.values(CREDENTIALS).map(({ header }) => header(KEY) ?? '');
  const forms = sent.flatMap((text) => [text, JSON.stringify(text), encodeURIComponent(text)]);
  for (const form of forms) {
    assert.match(shown(form) ?? '', /^"?(?:(?:Bearer|Basic)?(?: |%20)?\(the key\)|Bearer)?"?$/);
  }
  // A part of a longer secret would remain if a shorter one were replaced first.
  assert.equal(shown('x key%25 y', { ...SUBJECT, key: 'key%' }), 'x (the key) y');
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Report, ReportedClause, ReportedResult } from '../../check/report.ts';
import { checkTable } from './check-table.ts';
import type { Output } from './command.ts';

const KEPT: ReportedResult = { address: 'http://a/v1', verdict: 'kept' };
const BROKEN: ReportedResult = {
  address: 'http://b/v1',
  verdict: 'broken',
  request: 'GET /pets',
  answer: '500',
  expected: '200 with a list',
};
const UNWRITTEN: ReportedResult = {
  address: 'http://a/v1',
  verdict: 'not-checkable',
  why: 'it needs --write',
};
const UNCOMPARED: ReportedResult = {
  address: null,
  verdict: 'not-checkable',
  why: 'it needs a second address',
};

const write = () => true;

function clause(id: string, ...results: ReportedResult[]): ReportedClause {
  return { id, section: 'Endpoints', sentence: `The clause ${id}.`, writes: false, results };
}

function newReport(clauses: ReportedClause[], more: Partial<Report> = {}): Report {
  return {
    specification: 'Specification',
    addresses: ['http://a/v1'],
    write: false,
    clauses,
    differences: [],
    totals: { kept: 1, broken: 2, notCheckable: 3 },
    ...more,
  };
}

/** The lines of the table, on a terminal of that width if there is one. */
function linesOf(report: Report, columns?: number): string[] {
  const stdout: Output = columns === undefined ? { write } : { isTTY: true, columns, write };
  return checkTable(report, { stdout, env: { NO_COLOR: '1' } }).split('\n');
}

test('one address: a mark per clause, below it what is broken or not checked, then the ways to check more', () => {
  const clauses = [
    clause('one', KEPT),
    clause('two', BROKEN),
    clause('three', UNWRITTEN),
    { ...clause('four', UNCOMPARED), section: 'Versioning' as const },
    { ...clause('five', UNWRITTEN), section: 'Versioning' as const },
  ];
  assert.deepEqual(linesOf(newReport(clauses)), [
    'http://a/v1 against the Specification',
    '',
    'Endpoints',
    '  ✓ The clause one. one',
    '  ✗ The clause two. two',
    '      request: GET /pets',
    '      response: 500',
    '      expected: 200 with a list',
    '  – The clause three. three',
    '      not checked: it needs --write',
    '',
    'Versioning',
    '  – The clause four. four',
    '      not checked: it needs a second address',
    '  – The clause five. five',
    '      not checked: it needs --write',
    '',
    '1 kept, 2 broken, 3 not checkable',
    '2 more can be checked with --write, which adds animals to the catalogue.',
    '1 more can be checked with a second address, such as that of staging.',
    '',
  ]);
});

test('two addresses: a mark for each, the address of each problem, and the differences', () => {
  const clauses = [
    clause('one', KEPT, BROKEN),
    clause('two', KEPT, { ...UNWRITTEN, address: 'http://b/v1' }),
    clause('three', UNCOMPARED),
  ];
  const addresses = ['http://a/v1', 'http://b/v1'];
  assert.deepEqual(linesOf(newReport(clauses, { addresses, differences: ['One differs.'] })), [
    'http://a/v1 and http://b/v1 against the Specification',
    '',
    'Endpoints',
    '  ✓ ✗ The clause one. one',
    '      address: http://b/v1',
    '      request: GET /pets',
    '      response: 500',
    '      expected: 200 with a list',
    '  ✓ – The clause two. two',
    '      address: http://b/v1',
    '      not checked: it needs --write',
    '  –   The clause three. three',
    '      not checked: it needs a second address',
    '',
    'Differences',
    '  One differs.',
    '',
    '1 kept, 2 broken, 3 not checkable',
    '1 more can be checked with --write, which adds animals to the catalogue.',
    '',
  ]);
});

test('a way to check more is named only if this run did not take it', () => {
  const summary = '1 kept, 2 broken, 3 not checkable';
  const written = newReport([clause('one', UNWRITTEN)], { write: true });
  assert.deepEqual(linesOf(written).slice(-2), [summary, '']);
  assert.deepEqual(linesOf(newReport([clause('one', KEPT)])).slice(-2), [summary, '']);
});

test('on a narrow terminal a line continues below the start of its text', () => {
  const lines = linesOf(newReport([clause('one', BROKEN)]), 22);
  assert.deepEqual(lines.slice(0, 10), [
    'http://a/v1 against',
    'the Specification',
    '',
    'Endpoints',
    '  ✗ The clause one.',
    '    one',
    '      request: GET',
    '        /pets',
    '      response: 500',
    '      expected: 200',
  ]);
  assert.equal(lines[10], '        with a list');
  for (const line of lines) assert.ok(line.length <= 22, line);
});

test('a terminal of unknown width gets whole lines, and so does a pipe', () => {
  const report = newReport([clause('one', KEPT)]);
  const wide = checkTable(report, { stdout: { isTTY: true, write }, env: { NO_COLOR: '1' } });
  const piped = checkTable(report, { stdout: { columns: 10, write }, env: {} });
  assert.equal(wide, piped);
  assert.match(piped, /^http:\/\/a\/v1 against the Specification\n/);
});

test('marks and headings have colours on a terminal', () => {
  const report = newReport([KEPT, BROKEN, UNWRITTEN].map((result) => clause('one', result)));
  const text = checkTable(report, { stdout: { isTTY: true, write }, env: {} });
  for (const part of ['\u001b[32m✓', '\u001b[31m✗', '\u001b[33m–', '\u001b[1mEndpoints']) {
    assert.ok(text.includes(part), JSON.stringify(part));
  }
});

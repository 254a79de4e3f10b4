import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImportProgress } from '../domain/store.ts';
import type { CheckedFile } from './import-file.ts';
import { ImportReport } from './import-report.ts';

const CLEAR_LINE = '\r\u001b[K';
const LINES = { format: 'ndjson' } as const;
const ITEMS = { format: 'json' } as const;

function newReport({ isTTY = false, isSkipping = false } = {}) {
  let text = '';
  const output = { isTTY, columns: 200, write: (part: string) => (text += part) };
  const report = new ImportReport(output, {
    store: 'pets.sqlite',
    isSkipping,
  });
  return {
    report,
    /** What was written since the last call. */
    written: (): string => {
      const since = text;
      text = '';
      return since;
    },
  };
}

/** A checked file, as far as a report needs it. */
function checkedFile(values: Partial<CheckedFile>): CheckedFile {
  return { layout: LINES, animals: 0, invalid: 0, ...values } as CheckedFile;
}

function progressAt(values: Partial<ImportProgress>): ImportProgress {
  return { source: 'x', position: 10, lines: 0, imported: 0, skipped: 0, ...values };
}

function faults(count: number) {
  return Array.from({ length: count }, (_, index) => {
    return { line: index + 2, lines: 1, reason: 'It is bad.', text: '' };
  });
}

test('an import that stops says what it has imported until then, in the units of its file', () => {
  const { report, written } = newReport();
  assert.equal(report.stopped('The file has changed.'), 1);
  assert.equal(written(), 'The file has changed. Nothing was imported.\n');
  report.checked(checkedFile({ layout: ITEMS }));
  const some = progressAt({ lines: 1_234, imported: 1 });
  report.resumed(some, '; this import continues there.');
  assert.equal(
    written(),
    'An earlier import of this file stopped after item 1,234, with 1 animal imported; this import continues there.\n',
  );
  for (const imported of [1, 1_230]) {
    assert.equal(report.stopped('The disk is full.', ['First.', 'Second.']), 1);
    assert.equal(
      written(),
      `The disk is full. The import stopped after item 1,234, with ${imported === 1 ? '1 animal' : '1,230 animals'} imported into pets.sqlite: the same command with the same file continues there.\nFirst.\nSecond.\n`,
    );
    report.stored = progressAt({ lines: 1_234, imported: 1_230 });
  }
});

test('a terminal shows how much was checked, then how much was imported, and the line is gone in the end', () => {
  const { report, written } = newReport({ isTTY: true });
  report.checking(5, 0.5);
  report.faults(faults(1), LINES);
  report.checking(6, 0.6);
  report.checked(checkedFile({}));
  report.storing(progressAt({ imported: 7, position: 50 }), 200);
  report.finished(progressAt({ imported: 7 }), progressAt({}));
  const expected = [
    /^$/,
    /^50 % {2}5 animals checked$/,
    /^line 2: It is bad\.\n$/,
    /^60 % {2}6 animals checked$/,
    /^$/,
    /^25 % {2}7 animals$/,
    /^Imported 7 animals into /,
  ];
  const parts = written().split(CLEAR_LINE);
  assert.equal(parts.length, expected.length, JSON.stringify(parts));
  for (const [index, part] of expected.entries()) assert.match(parts[index] ?? '', part);
});

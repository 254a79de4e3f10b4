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
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
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

test('a JSON array is counted in items, and one is in the singular', () => {
  const { report, written } = newReport();
  report.checked(checkedFile({ layout: ITEMS }));
  assert.equal(report.refused(checkedFile({ invalid: 1 })), 1);
  assert.match(written(), /^Nothing was imported: 1 item is invalid\. /);
  assert.equal(report.refused(checkedFile({ invalid: 2 })), 1);
  assert.match(written(), /^Nothing was imported: 2 items are invalid\. /);
  report.resumed(progressAt({ lines: 1_234, imported: 1 }));
  assert.match(written(), /stopped after item 1,234, with 1 animal imported; this import/);
  assert.equal(report.mustSkip(progressAt({ lines: 1_234, imported: 1_000 })), 1);
  assert.match(written(), /stopped after item 1,234, with 1,000 animals imported: add/);
});

test('the end of an import has what this one added, the time it took and the rate', () => {
  const startedMs = performance.now();
  const { report, written } = newReport();
  const before = progressAt({ imported: 5 });
  assert.equal(report.finished(progressAt({ imported: 1_000_005 }), before), 0);
  const seconds = (performance.now() - startedMs) / 1000;
  const said =
    /^Imported 1,000,000 animals into pets\.sqlite\. That took ([\d.]+) s, ([\d,]+) per second\.\n$/;
  const [, took = '', rate = ''] = said.exec(written()) ?? [];
  assert.ok(Number(took) <= seconds + 0.05, `it says ${took} s`);
  assert.ok(
    Number(rate.replaceAll(',', '')) >= Math.floor(1_000_000 / seconds),
    `it says ${rate} per second`,
  );
});

test('an import that stops says what it has imported until then', () => {
  const { report, written } = newReport();
  const some = progressAt({ lines: 3, imported: 2 });
  assert.equal(report.interrupted(some), 1);
  assert.equal(
    written(),
    'The import was stopped after line 3, with 2 animals imported into pets.sqlite. Run the same command again to continue.\n',
  );
  for (const nothing of [undefined, progressAt({ position: 0 })]) {
    assert.equal(report.interrupted(nothing), 1);
    assert.equal(
      written(),
      'The import was stopped while the file was being checked; nothing was imported.\n',
    );
  }
  const changed = 'The file has changed while it was read, so the import stopped; ';
  assert.equal(report.changed(some), 1);
  assert.equal(
    written(),
    `${changed}its first 3 lines, 2 animals, were imported into pets.sqlite.\n`,
  );
  assert.equal(report.changed(undefined), 1);
  assert.equal(written(), `${changed}nothing was imported.\n`);
  assert.equal(report.failed('The disk is full.'), 1);
  assert.equal(
    written(),
    'The import stopped. The disk is full. Run the same command again to continue.\n',
  );
});

test('a terminal shows how much was checked, then how much was imported, and the line is gone in the end', () => {
  const { report, written } = newReport({ isTTY: true });
  report.checking(5, 0.5);
  report.faults(faults(1), LINES);
  report.checking(6, 0.6);
  report.checked(checkedFile({}));
  report.progress(progressAt({ imported: 7, position: 50 }), 200);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { csvLine } from './csv.ts';
import { RECORD_BYTES_MAX, RecordSplitter, type SourceRecord } from './records.ts';

function split(bytes: Uint8Array, options: { hasQuotes: boolean; chunkBytes: number }) {
  const splitter = new RecordSplitter({ hasQuotes: options.hasQuotes, linesBefore: 0 });
  const records: SourceRecord[] = [];
  let byteCount = 0;
  const pieces = [];
  for (let at = 0; at < bytes.length; at += options.chunkBytes) {
    pieces.push(splitter.push(bytes.subarray(at, at + options.chunkBytes)));
  }
  for (const piece of [...pieces, splitter.end()]) {
    records.push(...piece.records);
    byteCount += piece.byteCount;
  }
  return { records, byteCount };
}

test('records do not depend on how the bytes arrive, and every byte belongs to one', () => {
  const name = fc.string({ unit: 'grapheme', minLength: 1 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, name)),
      fc.integer({ min: 1, max: 50 }),
      (rows, chunkBytes) => {
        const lines = rows.map((row) => csvLine(row));
        const bytes = Buffer.from(lines.join(''));
        const { records, byteCount } = split(bytes, { hasQuotes: true, chunkBytes });
        assert.deepEqual(
          records.map((record) => ('text' in record ? record.text : record.fault)),
          lines.map((line) => line.slice(0, -2)),
        );
        assert.equal(byteCount, bytes.length);
      },
    ),
  );
});

test('a record is named by the line it starts on, however many lines it has', () => {
  const { records } = split(Buffer.from('a\n"b\n\nb"\n\nc'), { hasQuotes: true, chunkBytes: 2 });
  assert.deepEqual(records, [
    { line: 1, text: 'a' },
    { line: 2, text: '"b\n\nb"' },
    { line: 6, text: 'c' },
  ]);
});

test('an overlong record is one fault, whether it arrives at once or in parts', () => {
  const bytes = Buffer.from(`a\n${'x'.repeat(3 * RECORD_BYTES_MAX)}\nb\n`);
  for (const chunkBytes of [1_000, RECORD_BYTES_MAX, bytes.length]) {
    const { records, byteCount } = split(bytes, { hasQuotes: false, chunkBytes });
    assert.deepEqual(records, [
      { line: 1, text: 'a' },
      { line: 2, fault: 'is over 65536 bytes long.' },
      { line: 3, text: 'b' },
    ]);
    assert.equal(byteCount, bytes.length);
  }
});

test('a piece never ends inside a record, so that whoever goes on behind it finds whole ones', () => {
  const bytes = Buffer.from(`a\n"${'x\n'.repeat(RECORD_BYTES_MAX)}"\nb\n"c\n`);
  for (const chunkBytes of [1_000, 100_000, bytes.length]) {
    const splitter = new RecordSplitter({ hasQuotes: true, linesBefore: 0 });
    let [position, lines] = [0, 0];
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const piece = splitter.push(bytes.subarray(at, at + chunkBytes));
      position += piece.byteCount;
      lines += piece.lines;
      assert.ok(position === 0 || bytes[position - 1] === 0x0a);
      assert.equal(lines, bytes.subarray(0, position).toString().split('\n').length - 1);
    }
    assert.ok(position < 3 || position > RECORD_BYTES_MAX);
    assert.equal(position + splitter.end().byteCount, bytes.length);
  }
});

test('bytes that are not UTF-8 spoil their own line only, and a byte order mark none', () => {
  const bytes = Buffer.concat([
    Buffer.from('\uFEFFa\nb'),
    Buffer.from([0xff]),
    Buffer.from('\nc\n'),
  ]);
  const { records } = split(bytes, { hasQuotes: false, chunkBytes: 100 });
  assert.deepEqual(records, [
    { line: 1, text: 'a' },
    { line: 2, fault: 'is not valid UTF-8.' },
    { line: 3, text: 'c' },
  ]);
});

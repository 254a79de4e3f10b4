import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { csvLine, type Separator } from './csv.ts';
import { RECORD_BYTES_MAX, RecordSplitter, type SourceRecord } from './records.ts';

function split(bytes: Uint8Array, options: { separator?: Separator; chunkBytes: number }) {
  const splitter = new RecordSplitter({ separator: options.separator, linesBefore: 0 });
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
        const { records, byteCount } = split(bytes, { separator: ',', chunkBytes });
        assert.deepEqual(
          records.map(({ text, fault }) => fault ?? text),
          lines.map((line) => line.slice(0, -2)),
        );
        assert.equal(byteCount, bytes.length);
      },
    ),
  );
});

test('a record is named by the line it starts on, however many lines it has', () => {
  const { records } = split(Buffer.from('a\n"b\n\nb"\n\nc'), { separator: ',', chunkBytes: 2 });
  assert.deepEqual(records, [
    { line: 1, text: 'a' },
    { line: 2, text: '"b\n\nb"' },
    { line: 6, text: 'c' },
  ]);
});

test('an overlong record is one fault, whether it arrives at once or in parts', () => {
  const longest = 'x'.repeat(RECORD_BYTES_MAX);
  // The quote at the end of the overlong line opens no field.
  const bytes = Buffer.from(`${longest}\n${longest.repeat(3)},"\nb\n`);
  for (const options of [{}, { separator: ',' }] as const) {
    for (const chunkBytes of [1_000, RECORD_BYTES_MAX, bytes.length]) {
      const { records, byteCount } = split(bytes, { ...options, chunkBytes });
      assert.deepEqual(records, [
        { line: 1, text: longest },
        { line: 2, text: '', fault: 'is over 65536 bytes long.' },
        { line: 3, text: 'b' },
      ]);
      assert.equal(byteCount, bytes.length);
    }
  }
});

test('an overlong last record without a line break is one fault too', () => {
  const bytes = Buffer.from(`a\n${'x'.repeat(3 * RECORD_BYTES_MAX)}`);
  for (const options of [{}, { separator: ',' }] as const) {
    for (const chunkBytes of [1_000, RECORD_BYTES_MAX, bytes.length]) {
      const { records, byteCount } = split(bytes, { ...options, chunkBytes });
      assert.deepEqual(records, [
        { line: 1, text: 'a' },
        { line: 2, text: '', fault: 'is over 65536 bytes long.' },
      ]);
      assert.equal(byteCount, bytes.length);
    }
  }
});

const UNCLOSED = 'opens a quoted field that is not closed properly';

const rows = (count: number) => Array.from({ length: count }, () => 'Tom,1');

test('after a quoted field that is never closed, reading goes on with the next line', () => {
  const unclosed: [what: string, lines: string[]][] = [
    ['closed before a letter', ['a', '"Rex,1', ...rows(300), '"Ann, the cat",2']],
    ['open at the end of the file', ['a', '"Rex,1', ...rows(300)]],
    ['open for longer than a record may be', ['a', '"Rex,1', ...rows(20_000)]],
  ];
  for (const [what, lines] of unclosed) {
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    for (const chunkBytes of [777, 100_000, bytes.length]) {
      const { records, byteCount } = split(bytes, { separator: ',', chunkBytes });
      assert.equal(byteCount, bytes.length);
      assert.equal(records.length, lines.length);
      for (const [index, record] of records.entries()) {
        assert.equal(record.line, index + 1);
        if (index === 1) continue;
        assert.equal(record.text, lines[index]);
      }
      assert.deepEqual(
        records[1],
        {
          line: 2,
          text: '"Rex,1',
          fault: `${UNCLOSED}; reading continued with line 3.`,
        },
        what,
      );
    }
  }
});

test('a quote opens a field only at its start', () => {
  const { records } = split(Buffer.from('a"b,c\nd,"e\nf"\n"g",h"\n""x,y\nz\n'), {
    separator: ',',
    chunkBytes: 3,
  });
  assert.deepEqual(records, [
    { line: 1, text: 'a"b,c' },
    { line: 2, text: 'd,"e\nf"' },
    { line: 4, text: '"g",h"' },
    { line: 5, text: '""x,y' },
    { line: 6, text: 'z' },
  ]);
});

test('whoever goes on behind a piece finds the same records', () => {
  const line = fc.constantFrom(
    'a,b',
    '"a',
    '"a,b"',
    '"a""',
    'x"',
    '""',
    '"',
    '',
    '",',
    'a,"b',
    '\r',
  );
  fc.assert(
    fc.property(fc.array(line), fc.integer({ min: 1, max: 9 }), (lines, chunkBytes) => {
      const bytes = Buffer.from(lines.join('\n'));
      const whole = split(bytes, { separator: ',', chunkBytes: 1_000 });
      const first = new RecordSplitter({ separator: ',', linesBefore: 0 });
      const read: SourceRecord[] = [];
      let [position, linesBefore] = [0, 0];
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        const piece = first.push(bytes.subarray(at, at + chunkBytes));
        read.push(...piece.records);
        position += piece.byteCount;
        linesBefore += piece.lines;
        const second = new RecordSplitter({ separator: ',', linesBefore });
        const rest = [...second.push(bytes.subarray(position)).records, ...second.end().records];
        assert.deepEqual([...read, ...rest], whole.records);
      }
    }),
  );
});

test('a line without an end is not kept in memory', () => {
  const splitter = new RecordSplitter({ separator: ',', linesBefore: 0 });
  const chunk = Buffer.from('"x'.repeat(50_000));
  for (let pushed = 0; pushed < 50; pushed += 1) {
    assert.deepEqual(splitter.push(chunk), { records: [], byteCount: 0, lines: 0 });
  }
  assert.equal(splitter.push(Buffer.from('\nb\n')).records.length, 2);
});

test('bytes that are not UTF-8 spoil their own line only, and a byte order mark is removed at the start only', () => {
  const bytes = Buffer.concat([
    Buffer.from('\uFEFFa\nb'),
    Buffer.from([0xff]),
    Buffer.from('\n\uFEFFc\n'),
  ]);
  const { records } = split(bytes, { chunkBytes: 100 });
  assert.deepEqual(records, [
    { line: 1, text: 'a' },
    {
      line: 2,
      text: 'b\uFFFD',
      fault:
        'is not valid UTF-8. As Windows-1252 it is "bÿ": if that is right, name the encoding windows-1252.',
    },
    { line: 3, text: '\uFEFFc' },
  ]);
  const second = new RecordSplitter({ separator: undefined, linesBefore: 2 });
  const { records: rest } = second.push(Buffer.from('\uFEFFc\n'));
  assert.deepEqual(rest, [{ line: 3, text: '\uFEFFc' }]);
});

/** How many bytes the searches in a table have looked at. */
function searchedBytes(t: TestContext, table: string): number {
  let searched = 0;
  const search = Buffer.prototype.indexOf;
  const counting = t.mock.method(
    Uint8Array.prototype,
    'indexOf',
    function count(this: Uint8Array, byte: number, from = 0) {
      const at = search.call(this, byte, from);
      searched += (at === -1 ? this.length : at + 1) - from;
      return at;
    },
  );
  split(new TextEncoder().encode(table), { separator: '\t', chunkBytes: table.length });
  counting.mock.restore();
  return searched;
}

test('a table is read in linear time, also where every line opens a quoted field that is never closed', (t) => {
  for (const line of ['a"\t"b\n', 'Rex\t7\n', '"R""x"\t"7"\n']) {
    const table = line.repeat(4_000 / line.length);
    const searched = searchedBytes(t, table);
    assert.ok(searched < 7 * table.length, `${line}: ${searched} bytes for ${table.length}`);
  }
});

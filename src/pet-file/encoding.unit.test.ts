import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSpreadsheet, markedEncoding } from './encoding.ts';

test('UTF-16 is known by its byte order mark, and no other encoding is', () => {
  const little = Buffer.from('\uFEFFLöwe', 'utf16le');
  assert.equal(markedEncoding(little), 'utf-16le');
  assert.equal(markedEncoding(Buffer.from(little).swap16()), 'utf-16be');
  for (const text of ['\uFEFFLöwe', 'L', '']) {
    assert.equal(markedEncoding(Buffer.from(text)), undefined);
  }
});

test('a spreadsheet itself is recognised, and a table whose first heading begins with PK is not one', () => {
  assert.equal(isSpreadsheet(Buffer.from('PK\u0003\u0004')), true);
  assert.equal(isSpreadsheet(Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1])), true);
  for (const text of ['PKW;Name', 'PK', '']) assert.equal(isSpreadsheet(Buffer.from(text)), false);
});

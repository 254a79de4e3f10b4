import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asWindows1252, findText, isSpreadsheet, markedEncoding } from './encoding.ts';

test('bytes that are not UTF-8 are read as Windows-1252, with its signs between 0x80 and 0x9f', () => {
  const text = 'Löwe „König“ 5 €';
  const bytes = Buffer.from('4cf6776520844bf66e69679320352080', 'hex');
  assert.deepEqual(findText(bytes), { text, encoding: 'windows-1252' });
  assert.equal(asWindows1252(bytes), text);
  assert.deepEqual(findText(Buffer.from(text)), { text, encoding: 'utf-8' });
  assert.deepEqual(findText(Buffer.from(`\uFEFF${text}`)), { text, encoding: 'utf-8' });
});

test('UTF-16 is known by its byte order mark, and must be valid', () => {
  const little = Buffer.from('\uFEFFLöwe 🦊', 'utf16le');
  assert.deepEqual(findText(little), { text: 'Löwe 🦊', encoding: 'utf-16le' });
  const big = Buffer.from(little).swap16();
  assert.deepEqual(findText(big), { text: 'Löwe 🦊', encoding: 'utf-16be' });
  assert.equal(findText(Buffer.from('\uFEFF\ud800x', 'utf16le')), undefined);
  assert.equal(markedEncoding(Buffer.from('\uFEFF')), undefined);
});

test('a picture is no text', () => {
  assert.equal(findText(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])), undefined);
  assert.equal(findText(Buffer.from([0x4c, 0x81])), undefined, 'Windows-1252 has no 0x81');
});

test('a spreadsheet itself is recognised, and a table whose first heading begins with PK is not one', () => {
  assert.equal(isSpreadsheet(Buffer.from('PK\u0003\u0004')), true);
  assert.equal(isSpreadsheet(Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1])), true);
  for (const text of ['PKW;Name', 'PK', '']) assert.equal(isSpreadsheet(Buffer.from(text)), false);
});

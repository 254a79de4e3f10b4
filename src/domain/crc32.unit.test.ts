import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 as reference } from 'node:zlib';
import fc from 'fast-check';
import { crc32 } from './crc32.ts';

test('crc32 gives the checksum of zip and png', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      assert.equal(crc32(bytes), reference(bytes));
    }),
  );
});

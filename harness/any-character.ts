import fc from 'fast-check';

const SURROGATES = 0x800;

/**
 * Any Unicode character, as a unit of `fc.string`. The unit 'binary' of fast-check generates the same, but takes a
 * second of processor time to prepare.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + SURROGATES));

// Written by hand, because loading node:zlib for its crc32 costs 3.6 MiB and 4 ms at every start (Node.js 26.10,
// process.memoryUsage.rss() and performance.now() before and after `await import('node:zlib')`).

const REVERSED_POLYNOMIAL = 0xedb88320;

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let remainder = index;
  for (let bit = 0; bit < 8; bit += 1) {
    remainder = remainder & 1 ? (remainder >>> 1) ^ REVERSED_POLYNOMIAL : remainder >>> 1;
  }
  return remainder;
});

/** CRC-32 (ISO-HDLC, as in zip and png). It detects typing errors. It does not protect against attackers. */
export function crc32(bytes: Uint8Array, length = bytes.length): number {
  let remainder = 0xffffffff;
  for (let at = 0; at < length; at += 1) {
    remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  }
  return (remainder ^ 0xffffffff) >>> 0;
}

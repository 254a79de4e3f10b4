import type { Random } from '../random.ts';

const MUTATIONS_MAX = 4;

/** Changes a few bytes at random places: removed, repeated, inserted or replaced. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes;
  for (let count = random.integer(MUTATIONS_MAX) + 1; count > 0; count -= 1) {
    const at = random.integer(mutated.length);
    const end = Math.min(mutated.length, at + 1 + random.integer(20));
    const inserted = random.pick([
      Buffer.from([random.integer(256)]),
      Buffer.from('\r\n'),
      Buffer.from([0]),
      mutated.subarray(at, end),
      Buffer.alloc(0),
    ]);
    const rest = mutated.subarray(random.isOneIn(2) ? at : end);
    mutated = Buffer.concat([mutated.subarray(0, at), inserted, rest]);
  }
  return mutated;
}

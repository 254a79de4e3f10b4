const MUTATIONS_MAX = 4;

/** Random numbers that a seed repeats exactly. */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  integer(below: number): number;
  pick<Item>(items: readonly Item[]): Item;
  isOneIn(count: number): boolean;
}

/** The generator mulberry32: small, fast, and good enough to choose test cases. */
export function newRandom(seed: number): Random {
  let state = seed >>> 0;
  const integer = (below: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
  return {
    integer,
    pick<Item>(items: readonly Item[]): Item {
      return items[integer(items.length)] as Item;
    },
    isOneIn: (count) => integer(count) === 0,
  };
}

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

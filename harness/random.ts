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

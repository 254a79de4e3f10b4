import type { Random } from '../../harness/random.ts';

/** A disk writes a sector completely or not at all. */
const SECTOR_BYTES = 512;

/** A change of a file that was not synced: bytes at an offset, or a new size. */
export type Change =
  { event: number; offset: number; bytes: Buffer } | { event: number; size: number };

/** How much of what was not synced a power cut leaves. */
type Survival = 'nothing' | 'everything' | 'beginning' | 'any';
const SURVIVALS: readonly Survival[] = ['nothing', 'everything', 'beginning', 'any', 'any', 'any'];

/** The content after these changes. */
export function applied(content: Buffer, changes: readonly Change[]): Buffer {
  const ends = changes.map((change) =>
    'size' in change ? change.size : change.offset + change.bytes.length,
  );
  const changed = resized(content, Math.max(content.length, ...ends));
  let size = content.length;
  for (const [index, change] of changes.entries()) {
    const end = ends[index] ?? 0;
    if ('bytes' in change) change.bytes.copy(changed, change.offset);
    else if (end < size) changed.fill(0, end, size);
    size = 'bytes' in change ? Math.max(size, end) : end;
  }
  return changed.subarray(0, size);
}

function resized(content: Buffer, size: number): Buffer {
  const changed = Buffer.alloc(size);
  content.copy(changed);
  return changed;
}

/** The changes that a cut leaves, in the order in which the disk has made them. */
export function surviving<Item>(pending: readonly Item[], random: Random): Item[] {
  const survival = random.pick(SURVIVALS);
  if (survival === 'nothing') return [];
  if (survival === 'everything') return [...pending];
  if (survival === 'beginning') return pending.slice(0, random.integer(pending.length + 1));
  return pending.filter(() => random.isOneIn(2));
}

/** The content that a cut may leave of a file with these changes since its last sync. */
export function contentAfterCut(
  certain: Buffer,
  pending: readonly Change[],
  random: Random,
): Buffer {
  const survival = pending.length === 0 ? 'nothing' : random.pick(SURVIVALS);
  if (survival === 'nothing') return certain;
  if (survival === 'everything') return applied(certain, pending);
  if (survival === 'beginning') {
    return applied(certain, pending.slice(0, random.integer(pending.length + 1)));
  }
  return random.isOneIn(4)
    ? applied(certain, shuffled(sectorsOf(pending), random))
    : tearSectors(certain, pending, random);
}

/** Some of the sectors are written, each in one of its versions; the file has one of its sizes. */
function tearSectors(certain: Buffer, pending: readonly Change[], random: Random): Buffer {
  const share = 1 + random.integer(9);
  const kept = sectorsOf(pending).filter(() => random.integer(10) < share);
  const torn = applied(certain, kept);
  const sizes = [certain.length, torn.length];
  let size = certain.length;
  for (const change of pending) {
    size = 'size' in change ? change.size : Math.max(size, change.offset + change.bytes.length);
    sizes.push(size);
  }
  return random.isOneIn(2) ? torn : resized(torn, random.pick(sizes));
}

/** The same changes, one for each sector. */
function sectorsOf(pending: readonly Change[]): Change[] {
  return pending.flatMap((change) => {
    if ('size' in change) return [change];
    const sectors: Change[] = [];
    for (let at = 0; at < change.bytes.length;) {
      const offset = change.offset + at;
      const end = Math.min(change.bytes.length, at + SECTOR_BYTES - (offset % SECTOR_BYTES));
      sectors.push({ event: change.event, offset, bytes: change.bytes.subarray(at, end) });
      at = end;
    }
    return sectors;
  });
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, order: random.integer(2 ** 31) }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ item }) => item);
}

import { createHash, type Hash } from 'node:crypto';
import type { ApiKeyRow, ClaimRow, ImportRow, PetRow } from './rows.ts';

// Copies a whole catalogue from one database to another, of any two kinds.
//
// A copy can be interrupted at any moment and started again. Animals never change and are never removed,
// and their ids have the order of their commits. So what an interrupted copy has stored is the beginning of
// every later snapshot of the same source: the copy compares both beginnings and continues after the
// highest id. Keys, claims and the progress of imports do change. They are copied in the last transaction,
// which also sets the counter of ids and removes the marker. Until it has committed, the marker prevents
// every program from serving the target.

const PAGE_ROWS = 2_000;

/** Reads everything from either side in pages, in an order that is the same for all databases. */
export interface CatalogueReader {
  readPets: (afterId: bigint, count: number) => Promise<PetRow[]>;
  readKeys: (afterId: string, count: number) => Promise<ApiKeyRow[]>;
  readClaims: (after: { apiKeyId: string; key: string }, count: number) => Promise<ClaimRow[]>;
  readImports: (afterSource: string, count: number) => Promise<ImportRow[]>;
  countPets(): Promise<number>;
  /** The highest id that was ever assigned. */
  lastId(): Promise<bigint>;
  /** The source that the marker of an unfinished copy names, or undefined if there is no marker. */
  unfinishedCopyOf(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A source reads one snapshot from when it is opened until it is closed. */
export type CopySource = CatalogueReader;

export interface CopyTarget extends CatalogueReader {
  mark(source: string): Promise<void>;
  /** Stores these animals in one transaction. */
  writePets(rows: PetRow[]): Promise<void>;
  /** Runs `work` and removes the marker in one transaction: all of it, or nothing. */
  finish(work: (writer: FinishWriter) => Promise<void>): Promise<void>;
}

export interface FinishWriter {
  writeKeys(rows: ApiKeyRow[]): Promise<void>;
  writeClaims(rows: ClaimRow[]): Promise<void>;
  writeImports(rows: ImportRow[]): Promise<void>;
  setLastId(id: bigint): Promise<void>;
}

/** The number of rows of one kind, and a checksum over all of them. */
export interface Tally {
  count: number;
  checksum: string;
}

export const KINDS = ['animals', 'keys', 'claims', 'imports'] as const;

export type Tallies = Record<(typeof KINDS)[number], Tally> & { lastId: bigint };

/** The copy cannot be made, or differs from its source. The message is one line for a person. */
export class CopyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyRefused';
  }
}

export type OnProgress = (done: number, total: number) => void;

/** Copies everything, compares both sides, and returns the tallies of both. */
export async function copyCatalogue(
  source: CopySource,
  target: CopyTarget,
  options: { sourceName: string; onProgress: OnProgress },
): Promise<{ source: Tallies; target: Tallies }> {
  await requireUsable(source, target, options.sourceName);
  const total = await source.countPets();
  const animals = await copyPets(source, target, (done) => options.onProgress(done, total));
  let found: { source: Tallies; target: Tallies } | undefined;
  await target.finish(async (writer) => {
    const keys = await tallyOf(keysOf(source), (rows) => writer.writeKeys(rows));
    const claims = await tallyOf(claimsOf(source), (rows) => writer.writeClaims(rows));
    const imports = await tallyOf(importsOf(source), (rows) => writer.writeImports(rows));
    const lastId = await source.lastId();
    await writer.setLastId(lastId);
    const sent = { animals, keys, claims, imports, lastId };
    found = { source: sent, target: await tally(target) };
    refuseDifferent(found.source, found.target);
  });
  if (found === undefined) throw new Error('the last transaction did not run');
  return found;
}

/** Accepts an empty target, and one that a copy of the same source has started to fill. */
async function requireUsable(
  source: CopySource,
  target: CopyTarget,
  sourceName: string,
): Promise<void> {
  const unfinished = await source.unfinishedCopyOf();
  if (unfinished !== undefined) {
    throw new CopyRefused(`the source is itself an unfinished copy of ${unfinished}`);
  }
  const started = await target.unfinishedCopyOf();
  if (started === sourceName) return;
  if (started !== undefined) {
    throw new CopyRefused(
      `the target holds an unfinished copy of ${started}: finish that, or empty it`,
    );
  }
  const [pet] = await target.readPets(0n, 1);
  const [key] = await target.readKeys('', 1);
  if (pet !== undefined || key !== undefined || (await target.lastId()) > 0n) {
    throw new CopyRefused('the target holds other data: it must be new or empty');
  }
  await target.mark(sourceName);
}

/** Compares the animals that the target has, copies the rest, and returns the tally of all animals. */
async function copyPets(
  source: CopySource,
  target: CopyTarget,
  onProgress: (done: number) => void,
): Promise<Tally> {
  const sent = new Tallier();
  const kept = new Tallier();
  let afterId = 0n;
  for await (const rows of petsOf(target)) {
    kept.add(rows);
    const same = await source.readPets(afterId, rows.length);
    sent.add(same);
    if (sent.checksum() !== kept.checksum()) {
      throw new CopyRefused(
        `the target does not hold the beginning of the source (they differ after id ${afterId}): empty it and start again`,
      );
    }
    afterId = rows.at(-1)?.[0] ?? afterId;
    onProgress(sent.count);
  }
  for await (const rows of petsOf(source, afterId)) {
    await target.writePets(rows);
    sent.add(rows);
    onProgress(sent.count);
  }
  return sent.result();
}

async function tally(side: CatalogueReader): Promise<Tallies> {
  return {
    animals: await tallyOf(petsOf(side)),
    keys: await tallyOf(keysOf(side)),
    claims: await tallyOf(claimsOf(side)),
    imports: await tallyOf(importsOf(side)),
    lastId: await side.lastId(),
  };
}

async function tallyOf<SomeRow extends unknown[]>(
  pages: AsyncIterable<SomeRow[]>,
  write?: (rows: SomeRow[]) => Promise<void>,
): Promise<Tally> {
  const tallier = new Tallier();
  for await (const rows of pages) {
    tallier.add(rows);
    await write?.(rows);
  }
  return tallier.result();
}

function refuseDifferent(source: Tallies, target: Tallies): void {
  const isSame =
    source.lastId === target.lastId &&
    KINDS.every(
      (kind) =>
        source[kind].count === target[kind].count &&
        source[kind].checksum === target[kind].checksum,
    );
  if (!isSame)
    throw new CopyRefused('the target differs from the source: empty it and start again');
}

const petsOf = (side: CatalogueReader, afterId = 0n) =>
  pagesOf(afterId, ([id]: PetRow) => id, side.readPets);

const keysOf = (side: CatalogueReader) => pagesOf('', ([id]: ApiKeyRow) => id, side.readKeys);

const importsOf = (side: CatalogueReader) =>
  pagesOf('', ([source]: ImportRow) => source, side.readImports);

const claimsOf = (side: CatalogueReader) =>
  pagesOf(
    { apiKeyId: '', key: '' },
    ([apiKeyId, key]: ClaimRow) => ({ apiKeyId, key }),
    side.readClaims,
  );

/** Reads page after page, each after the position of the last row before it. */
async function* pagesOf<Position, SomeRow>(
  after: Position,
  positionOf: (row: SomeRow) => Position,
  read: (after: Position, count: number) => Promise<SomeRow[]>,
): AsyncGenerator<SomeRow[]> {
  for (let position = after; ;) {
    const rows = await read(position, PAGE_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    position = positionOf(last);
  }
}

/** Counts rows and computes their checksum, in constant memory. */
class Tallier {
  count = 0;
  readonly #hash: Hash = createHash('sha256');

  add(rows: readonly unknown[][]): void {
    this.count += rows.length;
    for (const row of rows) this.#hash.update(`${JSON.stringify(row, exactly)}\n`);
  }

  checksum(): string {
    return this.#hash.copy().digest('hex');
  }

  result(): Tally {
    return { count: this.count, checksum: this.checksum() };
  }
}

/** JSON.stringify refuses a bigint; its digits are used instead, on both sides. */
function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

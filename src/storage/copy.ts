import { createHash, type Hash } from 'node:crypto';
import type { ApiKeyRow, ClaimRow, ImportRow, PetRow } from './rows.ts';

// Carries a whole catalogue from one database to another, whichever kinds they are.
//
// It can be interrupted at any moment and begun again. Animals never change and never vanish, and their
// ids are given in the order of their commits: what an interrupted copy has stored is therefore the
// beginning of every later snapshot of the same source, and the copy goes on behind its highest id, once
// both beginnings are found to be equal. Keys, claims and the notes of imports do change; they are
// carried in the last transaction, together with the counter of ids and the end of the marker. Until that transaction has
// committed, the marker keeps every program from serving the target.

const PAGE_ROWS = 2_000;

/** What either side can be asked: everything in pages, in an order that is the same for all databases. */
export interface CatalogueReader {
  readPets(afterId: bigint, count: number): Promise<PetRow[]>;
  readKeys(afterId: string, count: number): Promise<ApiKeyRow[]>;
  readClaims(after: { apiKeyId: string; key: string }, count: number): Promise<ClaimRow[]>;
  readImports(afterSource: string, count: number): Promise<ImportRow[]>;
  countPets(): Promise<number>;
  /** The highest id that was ever given. */
  lastId(): Promise<bigint>;
  /** The source named by the marker of an unfinished copy, or undefined where there is none. */
  unfinishedCopyOf(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A source reads one unchanging snapshot, from when it is opened until it is closed. */
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

/** How much of one kind there is, and a checksum over all of it. */
export interface Tally {
  count: number;
  checksum: string;
}

export const KINDS = ['animals', 'keys', 'claims', 'imports'] as const;

export type Tallies = Record<(typeof KINDS)[number], Tally> & { lastId: bigint };

/** The copy cannot be made, or came out different. The message is one line for a person. */
export class CopyRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CopyRefused';
  }
}

export type OnProgress = (done: number, total: number) => void;

/** Copies everything, compares both sides, and answers what it found there. */
export async function copyCatalogue(
  source: CopySource,
  target: CopyTarget,
  options: { sourceName: string; onProgress: OnProgress },
): Promise<{ source: Tallies; target: Tallies }> {
  await admit(source, target, options.sourceName);
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

/** Lets in an empty target, and one that this very copy has begun to fill. */
async function admit(source: CopySource, target: CopyTarget, sourceName: string): Promise<void> {
  const unfinished = await source.unfinishedCopyOf();
  if (unfinished !== undefined) {
    throw new CopyRefused(`the source is itself an unfinished copy of ${unfinished}`);
  }
  const begun = await target.unfinishedCopyOf();
  if (begun === sourceName) return;
  if (begun !== undefined) {
    throw new CopyRefused(
      `the target holds an unfinished copy of ${begun}: finish that, or empty it`,
    );
  }
  const [pet] = await target.readPets(0n, 1);
  const [key] = await target.readKeys('', 1);
  if (pet !== undefined || key !== undefined || (await target.lastId()) > 0n) {
    throw new CopyRefused('the target holds other data: it must be new or empty');
  }
  await target.mark(sourceName);
}

/** Goes on behind what the target has, after comparing that, and answers the tally of all animals. */
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
        `the target does not hold the beginning of the source (they differ after id ${afterId}): empty it and begin again`,
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
  if (!isSame) throw new CopyRefused('the target came out different from the source');
}

async function* petsOf(side: CatalogueReader, afterId = 0n): AsyncGenerator<PetRow[]> {
  for (let last: bigint | undefined = afterId; last !== undefined;) {
    const rows: PetRow[] = await side.readPets(last, PAGE_ROWS);
    if (rows.length > 0) yield rows;
    last = rows.at(-1)?.[0];
  }
}

async function* keysOf(side: CatalogueReader): AsyncGenerator<ApiKeyRow[]> {
  for (let last: string | undefined = ''; last !== undefined;) {
    const rows: ApiKeyRow[] = await side.readKeys(last, PAGE_ROWS);
    if (rows.length > 0) yield rows;
    last = rows.at(-1)?.[0];
  }
}

async function* importsOf(side: CatalogueReader): AsyncGenerator<ImportRow[]> {
  for (let last: string | undefined = ''; last !== undefined;) {
    const rows: ImportRow[] = await side.readImports(last, PAGE_ROWS);
    if (rows.length > 0) yield rows;
    last = rows.at(-1)?.[0];
  }
}

async function* claimsOf(side: CatalogueReader): AsyncGenerator<ClaimRow[]> {
  let after: { apiKeyId: string; key: string } | undefined = { apiKeyId: '', key: '' };
  while (after !== undefined) {
    const rows: ClaimRow[] = await side.readClaims(after, PAGE_ROWS);
    if (rows.length > 0) yield rows;
    const last: ClaimRow | undefined = rows.at(-1);
    after = last && { apiKeyId: last[0], key: last[1] };
  }
}

/** Counts rows and sums them up, in constant memory. */
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

/** JSON has no bigint of JavaScript's; its digits stand for it, on both sides alike. */
function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

import { createHash, type Hash } from 'node:crypto';
import {
  API_KEY_COLUMNS,
  CLAIM_COLUMNS,
  DEPRECATED_CALL_COLUMNS,
  IMPORT_COLUMNS,
  PET_COLUMNS,
} from './rows.ts';

// Copies a whole catalogue from one database to another, of any two kinds.
//
// A copy can be interrupted at any moment and started again. Ids have the order of commits, so what an
// interrupted copy has stored is the beginning of every later snapshot of the same source, unless animals
// were changed or removed meanwhile. The copy compares both beginnings. It continues after the highest id
// if they are the same, and is refused otherwise. The rest changes often. It is copied in the last
// transaction, which also sets the counter of ids and removes the marker. Until it has committed, the marker
// prevents every program from serving the target.

const PAGE_ROWS = 2_000;

/** A row as an array, in the order of its columns. */
export type Row = readonly (string | bigint | null)[];

/**
 * What a catalogue consists of. The columns of each table begin with its key; `start` is a key that comes
 * before all others.
 */
export const TABLES = {
  animals: { name: 'pets', columns: PET_COLUMNS, start: [0n] },
  keys: { name: 'api_keys', columns: API_KEY_COLUMNS, start: [''] },
  claims: { name: 'idempotency_keys', columns: CLAIM_COLUMNS, start: ['', ''] },
  imports: { name: 'imports', columns: IMPORT_COLUMNS, start: [''] },
  calls: { name: 'deprecated_calls', columns: DEPRECATED_CALL_COLUMNS, start: ['', 0n] },
} as const satisfies Record<string, { name: string; columns: string; start: Row }>;

type Kind = keyof typeof TABLES;
export type Table = (typeof TABLES)[Kind];
export const KINDS = Object.keys(TABLES) as Kind[];

/** Reads one page of a table. Its values are the key of the row before, and the number of rows. */
export function selectPage({ name, columns, start }: Table, parameter: '?' | '$'): string {
  const key = columns.split(', ').slice(0, start.length).join(', ');
  const after = start.map((_, index) => `${parameter}${index + 1}`).join(', ');
  const count = `${parameter}${start.length + 1}`;
  return `SELECT ${columns} FROM ${name} WHERE (${key}) > (${after}) ORDER BY ${key} LIMIT ${count}`;
}

/** Reads everything from either side in pages, in an order that is the same for all databases. */
export interface CatalogueReader {
  read(table: Table, afterKey: Row, count: number): Promise<Row[]>;
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
  /** Stores these rows in one transaction. */
  write(table: Table, rows: Row[]): Promise<void>;
  /** Runs `work` and removes the marker in one transaction: all of it, or nothing. */
  finish(work: (writer: FinishWriter) => Promise<void>): Promise<void>;
}

export interface FinishWriter {
  write(table: Table, rows: Row[]): Promise<void>;
  setLastId(id: bigint): Promise<void>;
}

/** The number of rows of one kind, and a checksum over all of them. */
export interface Tally {
  count: number;
  checksum: string;
}

export type Tallies = Record<Kind, Tally> & { lastId: bigint };

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
    const keys = await tallyOf(source, TABLES.keys, writer);
    const claims = await tallyOf(source, TABLES.claims, writer);
    const imports = await tallyOf(source, TABLES.imports, writer);
    const calls = await tallyOf(source, TABLES.calls, writer);
    const lastId = await source.lastId();
    await writer.setLastId(lastId);
    const sent = { animals, keys, claims, imports, calls, lastId };
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
  const [key] = await target.read(TABLES.keys, TABLES.keys.start, 1);
  if (key !== undefined || (await target.lastId()) > 0n) {
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
  let after: Row = TABLES.animals.start;
  for await (const rows of pagesOf(target, TABLES.animals)) {
    kept.add(rows);
    const same = await source.read(TABLES.animals, after, rows.length);
    sent.add(same);
    if (sent.checksum() !== kept.checksum()) {
      throw new CopyRefused(
        `the target does not hold the beginning of the source (they differ after id ${after[0]}): empty it and start again`,
      );
    }
    after = rows.at(-1)?.slice(0, 1) ?? after;
    onProgress(sent.count);
  }
  for await (const rows of pagesOf(source, TABLES.animals, after)) {
    await target.write(TABLES.animals, rows);
    sent.add(rows);
    onProgress(sent.count);
  }
  return sent.result();
}

async function tally(side: CatalogueReader): Promise<Tallies> {
  return {
    animals: await tallyOf(side, TABLES.animals),
    keys: await tallyOf(side, TABLES.keys),
    claims: await tallyOf(side, TABLES.claims),
    imports: await tallyOf(side, TABLES.imports),
    calls: await tallyOf(side, TABLES.calls),
    lastId: await side.lastId(),
  };
}

async function tallyOf(side: CatalogueReader, table: Table, writer?: FinishWriter): Promise<Tally> {
  const tallier = new Tallier();
  for await (const rows of pagesOf(side, table)) {
    tallier.add(rows);
    await writer?.write(table, rows);
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

/** Reads page after page, each after the key of the last row before it. */
async function* pagesOf(
  side: CatalogueReader,
  table: Table,
  after: Row = table.start,
): AsyncGenerator<Row[]> {
  for (let key = after; ;) {
    const rows = await side.read(table, key, PAGE_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    key = last.slice(0, after.length);
  }
}

/** Counts rows and computes their checksum, in constant memory. */
class Tallier {
  count = 0;
  readonly #hash: Hash = createHash('sha256');

  add(rows: readonly Row[]): void {
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

import { isDeepStrictEqual } from 'node:util';
import { StoreUnusable } from '../../domain/store.ts';
import {
  API_KEY_COLUMNS,
  CLAIM_COLUMNS,
  IDENTITY_COLUMNS,
  IMPORT_COLUMNS,
  PET_COLUMNS,
} from '../rows.ts';

// Copies a whole catalogue from one database to another, of any two kinds. The target gets all of it at
// once, after both sides were compared. A copy that is interrupted leaves nothing, and is started again.

const PAGE_ROWS = 2_000;

/** A row as an array, in the order of its columns. */
export type Row = readonly (string | bigint | null)[];

/**
 * What a catalogue consists of. The columns of each table begin with its key; `start` is a key that comes
 * before all others. Claims refer to keys, which are therefore copied first.
 */
export const TABLES = {
  animals: { name: 'pets', columns: PET_COLUMNS, start: [0n] },
  keys: { name: 'api_keys', columns: API_KEY_COLUMNS, start: [''] },
  claims: { name: 'idempotency_keys', columns: CLAIM_COLUMNS, start: ['', ''] },
  imports: { name: 'imports', columns: IMPORT_COLUMNS, start: [''] },
  // A copy is the same store as its source.
  identity: { name: 'store_identity', columns: IDENTITY_COLUMNS, start: [''] },
} as const satisfies Record<string, { name: string; columns: string; start: Row }>;

type Kind = keyof typeof TABLES;
export type Table = (typeof TABLES)[Kind];
const KINDS = Object.keys(TABLES) as Kind[];

/** Reads one page of a table. Its parameters are the key of the row before, and the number of rows. */
export function selectPage({ name, columns, start }: Table, parameter: '?' | '$'): string {
  const key = columns.split(', ').slice(0, start.length).join(', ');
  const after = start.map((_, index) => `${parameter}${index + 1}`).join(', ');
  const count = `${parameter}${start.length + 1}`;
  return `SELECT ${columns} FROM ${name} WHERE (${key}) > (${after}) ORDER BY ${key} LIMIT ${count}`;
}

/** Reads a catalogue at one moment in pages, in an order that is the same for all databases. */
export interface CatalogueReader {
  read(table: Table, afterKey: Row, count: number): Promise<Row[]>;
  count(table: Table): Promise<number>;
  /** The highest id that was ever assigned. */
  lastId(): Promise<bigint>;
  close(): Promise<void>;
}

/**
 * Reads what it has written, which no other program sees before `commit`. If it is closed without a commit, it
 * leaves nothing. No other program can create an animal in the target before it is closed.
 */
export interface CopyTarget extends CatalogueReader {
  write(table: Table, rows: Row[]): Promise<void>;
  setLastId(id: bigint): Promise<void>;
  commit(): Promise<void>;
}

/** What both sides of a copy must agree on. */
export type Totals = Record<Exclude<Kind, 'identity'>, number> & {
  identity: string;
  lastId: bigint;
};

export type OnProgress = (done: number, total: number) => void;

/**
 * Copies everything, compares both sides, commits, and returns what was compared. Throws StoreUnusable if the
 * target is not empty.
 */
export async function copyCatalogue(
  source: CatalogueReader,
  target: CopyTarget,
  onProgress: OnProgress,
): Promise<Totals> {
  await requireEmpty(target);
  const totals = await totalsOf(source);
  let done = 0;
  for (const kind of KINDS) {
    for await (const rows of pagesOf(source, TABLES[kind])) {
      await target.write(TABLES[kind], rows);
      if (kind !== 'animals') continue;
      done += rows.length;
      onProgress(done, totals.animals);
    }
  }
  await target.setLastId(totals.lastId);
  const stored = await totalsOf(target);
  if (!isDeepStrictEqual(stored, totals)) throw new Error('the target differs from the source');
  await target.commit();
  return totals;
}

async function requireEmpty(target: CopyTarget): Promise<void> {
  let isEmpty = (await target.lastId()) === 0n;
  for (const table of Object.values(TABLES)) {
    // An empty target may have an identity, which is replaced.
    if (table === TABLES.identity) continue;
    isEmpty &&= (await target.read(table, table.start, 1)).length === 0;
  }
  if (!isEmpty) throw new StoreUnusable('the target holds other data: it must be new or empty.');
}

async function totalsOf(side: CatalogueReader): Promise<Totals> {
  const { identity, ...counted } = TABLES;
  const [found = []] = await side.read(identity, identity.start, 1);
  return {
    animals: await side.count(counted.animals),
    keys: await side.count(counted.keys),
    claims: await side.count(counted.claims),
    imports: await side.count(counted.imports),
    identity: exactJson(found),
    lastId: await side.lastId(),
  };
}

/** Reads page after page, each after the key of the last row before it. */
export async function* pagesOf(side: CatalogueReader, table: Table): AsyncGenerator<Row[]> {
  for (let key: Row = table.start; ;) {
    const rows = await side.read(table, key, PAGE_ROWS);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    key = last.slice(0, table.start.length);
  }
}

/** JSON.stringify refuses a bigint; its digits are used instead, as a string. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each,
  );
}

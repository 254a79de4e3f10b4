import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newCursor } from '../src/domain/page.ts';
import { openSqliteStore } from '../src/storage/sqlite/store.ts';

const FILL_BATCH_ROWS = 1_000_000;

/** The name of animal n. `animalJson` must give the same. */
const NAME_SQL = `'Animal ' || n`;

export function animalJson(id: number): object {
  const statuses = ['available', 'pending', 'sold'];
  return { id, name: `Animal ${id}`, categoryId: id % 50, status: statuses[id % 3] };
}

/** SQLite files with animals, in the schema of the service. Each is filled once and then copied. */
export class Stores {
  readonly #folder: string;
  readonly #templates = new Map<number, string>();
  #copies = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns a new data folder with this many animals. */
  async folderWith(count: number): Promise<string> {
    let template = this.#templates.get(count);
    if (template === undefined) {
      template = join(this.#folder, `animals-${count}.sqlite`);
      await fill(template, count);
      this.#templates.set(count, template);
    }
    this.#copies += 1;
    const folder = join(this.#folder, `data-${this.#copies}`);
    mkdirSync(join(folder, 'production'), { recursive: true });
    copyFileSync(template, storeFileOf(folder));
    return folder;
  }

  /** Frees the disk space of a folder before the end of the run. */
  remove(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function storeFileOf(dataFolder: string): string {
  return join(dataFolder, 'production', 'petstore.sqlite');
}

async function fill(file: string, count: number): Promise<void> {
  mkdirSync(dirname(file), { recursive: true });
  await openSqliteStore(file).close();
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -500000');
  const insert = database.prepare(
    `WITH RECURSIVE numbers(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
     INSERT INTO pets (name, category_id, status)
     SELECT ${NAME_SQL}, n % 50, CASE n % 3 WHEN 0 THEN 'available' WHEN 1 THEN 'pending' ELSE 'sold' END
     FROM numbers`,
  );
  for (let from = 1; from <= count; from += FILL_BATCH_ROWS) {
    insert.run(from, Math.min(from + FILL_BATCH_ROWS - 1, count));
  }
  database.close();
}

const LIMIT_SPAN = 39;

/**
 * Pages that are all different, spread over the whole store. The limits differ too, with a mean of 20, because a
 * small store has too few different cursors. Both stores of a comparison get the same limits in the same order.
 */
export function deepPages(pageCount: number, animalCount: number): string[] {
  // The step and the number of pages have no common divisor, so every position comes up once.
  const step = 7_919;
  return Array.from({ length: pageCount }, (_, index) => {
    const position = (index * step) % pageCount;
    const limit = 1 + (position % LIMIT_SPAN);
    const afterId = Math.floor((position / pageCount) * (animalCount - LIMIT_SPAN));
    return `/v1/pets?limit=${limit}&cursor=${newCursor(BigInt(afterId), undefined)}`;
  });
}

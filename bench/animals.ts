import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { newCursor } from '../src/domain/page.ts';
import { openSqliteStore } from '../src/storage/sqlite/store.ts';

const FILL_BATCH_ROWS = 1_000_000;

/** The animals of a measurement, as SQL makes them from the number n. */
const NAME_SQL = `'Animal ' || n`;

export function animalJson(id: number): object {
  const statuses = ['available', 'pending', 'sold'];
  return { id, name: `Animal ${id}`, categoryId: id % 50, status: statuses[id % 3] };
}

/** Stores of animals in the service's own schema, each made once and copied for every user. */
export class Stores {
  readonly #folder: string;
  readonly #templates = new Map<number, string>();
  #copies = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A data folder of the service, with that many animals. */
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

  /** Lets go of a large store as soon as nobody needs it. */
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
 * Pages that are all different, spread over the whole store: other cursors, and other limits around 20,
 * because a small store has too few cursors to be different with. Both stores of a comparison get the
 * same limits in the same order.
 */
export function deepPages(pageCount: number, animalCount: number): string[] {
  // A step without a common divisor visits every place once before any twice.
  const step = 7_919;
  return Array.from({ length: pageCount }, (_, index) => {
    const place = (index * step) % pageCount;
    const limit = 1 + (place % LIMIT_SPAN);
    const afterId = Math.floor((place / pageCount) * (animalCount - LIMIT_SPAN));
    return `/v1/pets?limit=${limit}&cursor=${newCursor(BigInt(afterId), undefined)}`;
  });
}

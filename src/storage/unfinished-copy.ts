import { StoreUnusable } from '../domain/store.ts';

/** The error for a store that `petstore copy` has not filled completely. */
export function unfinishedCopy(store: string, source: string): StoreUnusable {
  return new StoreUnusable(
    `${store} is an unfinished copy of ${source}: finish it with petstore copy, or open another store.`,
  );
}

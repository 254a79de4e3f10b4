import type { Store } from '../domain/store.ts';

/** Opens the configured store: PostgreSQL if an address is given, otherwise one SQLite file. */
export async function openStore(where: {
  databaseUrl: string | undefined;
  file: string;
  /** Called when the store is lost, and when it is back. */
  onWarning?: (message: string) => void;
}): Promise<Store> {
  // Only the store that is used is loaded: the driver of the other one would make the start slower.
  if (where.databaseUrl === undefined) {
    const { openSqliteStore } = await import('./sqlite/store.ts');
    return openSqliteStore(where.file, where);
  }
  const { openPostgresStore } = await import('./postgres/store.ts');
  return openPostgresStore(where.databaseUrl);
}

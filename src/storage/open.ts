import type { Store } from '../domain/store.ts';

/** Opens the store of a configuration: PostgreSQL where an address is given, otherwise one file. */
export async function openStore(where: {
  databaseUrl: string | undefined;
  file: string;
  /** Told what no single call can tell: the store was lost, or is back. */
  onWarning?: (message: string) => void;
}): Promise<Store> {
  // Each is loaded only where it is used: the other's driver would lengthen the start for nothing.
  if (where.databaseUrl === undefined) {
    const { openSqliteStore } = await import('./sqlite/store.ts');
    return openSqliteStore(where.file, where);
  }
  const { openPostgresStore } = await import('./postgres/store.ts');
  return openPostgresStore(where.databaseUrl);
}

import type { Store } from '../domain/store.ts';
import { openSqliteStore } from './sqlite/store.ts';

/** Opens the store that the settings name. */
export async function openStore({
  file,
}: {
  databaseUrl: string | undefined;
  file: string;
}): Promise<Store> {
  return openSqliteStore(file);
}

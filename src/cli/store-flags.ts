import { existsSync } from 'node:fs';
import { loadConfig, SETTINGS, type Config } from '../config.ts';
import { UsageError, type Flags, type Variables } from '../setting.ts';
import type { Store } from '../domain/store.ts';
import type { CatalogueReader } from '../storage/copy.ts';
import { openConfiguredStore, storeFile } from '../service.ts';

const { env, data, database } = SETTINGS;
/** The options of a command that opens the store itself, whether or not the service runs. */
export const STORE_OPTIONS = { env, data, database };

/**
 * Opens the store that the flags and variables name. With `mustExist` a missing store is not created:
 * after a typing error in `--data`, a new one would look like a store without keys or animals.
 */
export async function openStoreByFlags(
  flags: Flags,
  variables: Variables,
  { mustExist }: { mustExist: boolean },
): Promise<{ config: Config; store: Store }> {
  const config = loadConfig(flags, variables);
  if (mustExist) requireStore(config);
  return { config, store: await openConfiguredStore(config) };
}

/** Opens the same store to read one snapshot of it. */
export async function openReaderByFlags(
  flags: Flags,
  variables: Variables,
): Promise<CatalogueReader> {
  const config = loadConfig(flags, variables);
  requireStore(config);
  if (config.databaseUrl !== undefined) {
    const { openPostgresReader } = await import('../storage/postgres/copy.ts');
    return openPostgresReader(config.databaseUrl);
  }
  const { openSqliteReader } = await import('../storage/sqlite/copy.ts');
  return openSqliteReader(storeFile(config));
}

/** The file of the embedded store, for a command that works on the file itself. */
export function embeddedStoreFile(
  flags: Flags,
  variables: Variables,
  { mustExist, insteadOnPostgres = '' }: { mustExist: boolean; insteadOnPostgres?: string },
): string {
  const config = loadConfig(flags, variables);
  if (config.databaseUrl !== undefined) {
    throw new UsageError(
      `this command is for the embedded store, and --database or DATABASE_URL names a PostgreSQL database: use ${insteadOnPostgres}.`,
    );
  }
  if (mustExist) requireStore(config);
  return storeFile(config);
}

function requireStore(config: Config): void {
  if (config.databaseUrl !== undefined || existsSync(storeFile(config))) return;
  throw new UsageError(
    `there is no store in ${config.dataFolder}: --data and --env must name a store that serve, import or keys create has created.`,
  );
}

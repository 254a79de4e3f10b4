// The store that the settings name: the database, or the file in the data folder. Commands and the service open it here.

import { join } from 'node:path';
import type { Config } from './config.ts';
import type { Store } from './domain/store.ts';
import type { Measured } from './ops/metrics.ts';
import { parseAddress } from './storage/postgres/address.ts';
import type { PostgresOptions } from './storage/postgres/store.ts';
import type { SqliteOptions } from './storage/sqlite/store.ts';

export function storeFile(config: Config): string {
  return join(config.dataFolder, 'petstore.sqlite');
}

/** The file, or the address of the database without its password. */
export function nameOfStore(config: Config): string {
  const { databaseUrl } = config;
  return databaseUrl === undefined ? storeFile(config) : parseAddress(databaseUrl).shown;
}

export async function openConfiguredStore(
  config: Config,
  options: SqliteOptions & PostgresOptions = {},
): Promise<Store & Measured> {
  const access = { environment: config.environment, ...options };
  // Only the store that is used is loaded: the driver of the other one would make the start slower.
  if (config.databaseUrl !== undefined) {
    const { openPostgresStore } = await import('./storage/postgres/store.ts');
    return openPostgresStore(config.databaseUrl, access);
  }
  const { openSqliteStore } = await import('./storage/sqlite/store.ts');
  return openSqliteStore(storeFile(config), access);
}

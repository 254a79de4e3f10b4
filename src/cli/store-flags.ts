import { existsSync } from 'node:fs';
import { loadConfig, UsageError, type Config, type Variables } from '../config.ts';
import type { Store } from '../domain/store.ts';
import { openConfiguredStore, storeFile } from '../service.ts';

/** The flags of a command that opens the store itself, whether or not the service runs. */
export const STORE_OPTIONS = {
  env: { type: 'string' },
  data: { type: 'string' },
  database: { type: 'string' },
} as const;

export type StoreFlags = Partial<Record<keyof typeof STORE_OPTIONS, string>>;

/**
 * Opens the store that the flags and variables name. With `mustExist` a missing store is not created:
 * after a typing error in `--data`, a new one would look like a store without keys or animals.
 */
export async function openStoreByFlags(
  { env, data, database }: StoreFlags,
  variables: Variables,
  { mustExist }: { mustExist: boolean },
): Promise<{ config: Config; store: Store }> {
  const settings = Object.entries({ env, data, database }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const config = loadConfig(settings, variables);
  if (mustExist && config.databaseUrl === undefined && !existsSync(storeFile(config))) {
    throw new UsageError(
      `there is no store in ${config.dataFolder}: --data and --env must name a store that petstore serve, import or keys create has created.`,
    );
  }
  return { config, store: await openConfiguredStore(config) };
}

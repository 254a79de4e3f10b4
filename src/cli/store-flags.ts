import { existsSync } from 'node:fs';
import { loadConfig, UsageError, type Config, type Variables } from '../config.ts';
import type { Store } from '../domain/store.ts';
import { storeFile } from '../service.ts';
import { openStore } from '../storage/open.ts';

/** The flags of a command that works on a store itself, whether or not the service runs. */
export const STORE_OPTIONS = {
  env: { type: 'string' },
  data: { type: 'string' },
  database: { type: 'string' },
} as const;

export type StoreFlags = Partial<Record<keyof typeof STORE_OPTIONS, string>>;

/**
 * Opens the store that the flags and variables name. A command that only makes sense where there is one
 * must not make one: behind a typing error, an empty store would look like one without keys or animals.
 */
export async function openConfiguredStore(
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
      `there is no store in ${config.dataFolder}: --data and --env must name one that petstore serve, import or keys create made.`,
    );
  }
  const store = await openStore({ databaseUrl: config.databaseUrl, file: storeFile(config) });
  return { config, store };
}

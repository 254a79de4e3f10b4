import { loadConfig, type Config, type Variables } from '../config.ts';
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

/** Opens the store that the flags and variables name. */
export async function openConfiguredStore(
  { env, data, database }: StoreFlags,
  variables: Variables,
): Promise<{ config: Config; store: Store }> {
  const settings = Object.entries({ env, data, database }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const config = loadConfig(settings, variables);
  const store = await openStore({ databaseUrl: config.databaseUrl, file: storeFile(config) });
  return { config, store };
}

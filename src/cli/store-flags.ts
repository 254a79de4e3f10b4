import { loadConfig, SETTINGS, type Config } from '../config.ts';
import { UsageError, type Flags, type Variables } from '../setting.ts';
import type { Store } from '../domain/store.ts';
import { newStoreIdentity } from '../domain/store-identity.ts';
import type { CatalogueReader } from '../storage/tools/copy.ts';
import { nameOfStore, openConfiguredStore, storeFile } from '../open-store.ts';
import { hasStore } from '../storage/sqlite/open.ts';
import type { CommandIo } from './command.ts';

const { env, data, database } = SETTINGS;
/** The options of a command that opens the store itself, whether or not the service runs. */
export const STORE_OPTIONS = { env, data, database };
/** The switch of a command that can begin with a new store. */
export const CREATE_SWITCH = { create: 'create the store if it does not exist' };

/** An open store, or a reader of one. */
interface Opened<Of> {
  config: Config;
  /** How messages name the store. */
  name: string;
  store: Of;
}

/**
 * Opens the store that the flags and variables name, if it has the schema of this program. A missing store is
 * created only with `create`: after a typing error in `--data`, a new one would look like a store without keys
 * or animals. A command without that switch passes no `create`.
 */
export async function openStoreByFlags(
  flags: Flags,
  { env: variables, clock, randomBytes, stderr }: Omit<CommandIo, 'stdin' | 'stdout'>,
  options: { create?: boolean } = {},
): Promise<Opened<Store>> {
  const config = loadConfig(flags, variables);
  const mayCreate = options.create === true;
  if (!mayCreate) requireStore(config, flags, variables, options);
  const { environment } = config;
  const store = await openConfiguredStore(config, {
    identity: mayCreate
      ? newStoreIdentity(environment, { now: clock.now(), randomBytes })
      : undefined,
    mayMigrate: false,
    waitsForDisk: true,
    onWarning: (message) => stderr.write(`petstore: ${message}.\n`),
  });
  return { config, name: nameOfStore(config), store };
}

/** Opens the same store to read one snapshot of it. */
export async function openReaderByFlags(
  flags: Flags,
  variables: Variables,
): Promise<Opened<CatalogueReader>> {
  const config = loadConfig(flags, variables);
  requireStore(config, flags, variables);
  return { config, name: nameOfStore(config), store: await openReader(config) };
}

async function openReader({ environment, ...config }: Config): Promise<CatalogueReader> {
  if (config.databaseUrl !== undefined) {
    const { openPostgresReader } = await import('../storage/tools/postgres-copy.ts');
    return openPostgresReader(config.databaseUrl, { environment });
  }
  const { openSqliteReader } = await import('../storage/tools/sqlite-copy.ts');
  return openSqliteReader(storeFile({ environment, ...config }), { environment });
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
  if (mustExist) requireStore(config, flags, variables);
  return storeFile(config);
}

function requireStore(
  config: Config,
  flags: Flags,
  variables: Variables,
  { create }: { create?: boolean } = {},
): void {
  if (config.databaseUrl !== undefined || hasStore(storeFile(config))) return;
  const flag = flags['data'] === undefined ? undefined : '--data';
  const variable = variables[data.variable] ? data.variable : undefined;
  const origin = flag ?? variable ?? 'the default of --data';
  const remedy = create === false ? ', or add --create' : '';
  throw new UsageError(
    `there is no store at ${storeFile(config)} (from ${origin}): name the folder of a store, or start the service there first${remedy}.`,
  );
}

import { resolve } from 'node:path';
import { SETTINGS } from '../config.ts';
import { UsageError } from '../setting.ts';
import { Refusal } from '../domain/errors.ts';
import { StoreUnusable } from '../domain/store.ts';
import {
  copyCatalogue,
  TABLES,
  type CatalogueReader,
  type CopyTarget,
} from '../storage/tools/copy.ts';
import { defineCommand, type Io } from './command.ts';
import { Progress } from './terminal.ts';

/** One end of a copy: a file (`sqlite:PATH`) or a database (`postgres://…`). */
interface End {
  /** Its name in messages, without a password. */
  name: string;
  openReader: () => Promise<CatalogueReader>;
  openTarget: () => Promise<CopyTarget>;
}

const END = {
  value: 'STORE',
  // At least one of the two is a flag: a database that is both is refused.
  variable: SETTINGS.database.variable,
  isRequired: true,
  // An address may hold a password.
  isSecret: true,
  parse: endOrUndefined,
  mustBe: 'sqlite:FILE or postgres://user@host:port/database',
} as const;

export const copy = defineCommand({
  purpose: 'Copy a whole catalogue from one store to another, then compare the two',
  options: {
    from: { ...END, description: 'the store to read: sqlite:FILE or postgres://…' },
    to: { ...END, description: 'the store to write: a new file, or an empty database' },
  },
  notes: `Animals, keys, idempotency claims and imports are copied as they are at one moment. The target gets
all of them at the end, when the counts, the last ids and the identities of both are the same, or
nothing: a copy that was stopped is started again. DATABASE_URL is the store that is not named.
A URL in an argument has no password: that is in the file that PGPASSFILE names, as for psql.`,
  examples: [
    'copy --from sqlite:data/production/petstore.sqlite',
    'copy --to sqlite:backup.sqlite',
  ],
  async action({ options: { from, to }, io }) {
    const [source, target] = [await from(), await to()];
    if (source.name === target.name) {
      throw new UsageError(
        '--from and --to name the same catalogue: they must name two different ones.',
      );
    }
    return copyBetween(source, target, io);
  },
});

async function copyBetween(source: End, target: End, io: Io): Promise<number> {
  const progress = new Progress(io.stderr);
  const reader = await source.openReader();
  try {
    const writer = await target.openTarget();
    try {
      await requireSameEnvironment([source, reader], [target, writer]);
      const found = await copyCatalogue(reader, writer, (count, total) =>
        progress.show(count, count / total),
      );
      progress.clear();
      const { animals, keys, claims, imports, lastId } = found;
      io.stderr.write(
        `Copied ${source.name} to ${target.name}; animals: ${animals}, keys: ${keys}, claims: ${claims}, imports: ${imports}, last id: ${lastId}.\n`,
      );
      return 0;
    } finally {
      await writer.close();
    }
  } catch (error) {
    progress.clear();
    if (error instanceof StoreUnusable || error instanceof UsageError) throw error;
    io.stderr.write(`petstore: ${target.name}: ${reasonOf(error)}.\n`);
    return 1;
  } finally {
    await reader.close();
  }
}

/** Data of production must not get into staging, nor the other way round. */
async function requireSameEnvironment(...ends: [End, CatalogueReader][]): Promise<void> {
  const { identity } = TABLES;
  const known = new Map<string, string>();
  for (const [{ name }, reader] of ends) {
    // The second column is the environment. A new target has no row.
    const [row] = await reader.read(identity, identity.start, 1);
    if (row !== undefined) known.set(String(row[1]), name);
  }
  if (known.size <= 1) return;
  const found = [...known].map(([environment, name]) => `${name} is a ${environment} store`);
  throw new UsageError(`${found.join(' and ')}: --from and --to must be of one environment.`);
}

function reasonOf(error: unknown): string {
  const { message } = (error instanceof Refusal && error.cause ? error.cause : error) as Error;
  return `the copy stopped (${message}): the target holds all of it or nothing; run the same command again`;
}

function endOrUndefined(text: string): (() => Promise<End>) | undefined {
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length) {
    return () => sqliteEnd(resolve(text.slice('sqlite:'.length)));
  }
  return /^postgres(?:ql)?:/.test(text) ? () => postgresEnd(text) : undefined;
}

async function sqliteEnd(file: string): Promise<End> {
  const { openSqliteReader, openSqliteTarget } = await import('../storage/tools/sqlite-copy.ts');
  return {
    name: `sqlite:${file}`,
    openReader: async () => openSqliteReader(file),
    openTarget: async () => openSqliteTarget(file),
  };
}

async function postgresEnd(text: string): Promise<End> {
  const { openPostgresReader, openPostgresTarget } =
    await import('../storage/tools/postgres-copy.ts');
  const { parseAddress } = await import('../storage/postgres/address.ts');
  return {
    name: parseAddress(text).shown,
    openReader: () => openPostgresReader(text),
    openTarget: () => openPostgresTarget(text),
  };
}

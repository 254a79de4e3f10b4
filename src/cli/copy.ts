import { resolve } from 'node:path';
import { parseArguments, UsageError } from '../config.ts';
import { StoreUnusable } from '../domain/store.ts';
import {
  copyCatalogue,
  CopyRefused,
  KINDS,
  type CopySource,
  type CopyTarget,
  type Tallies,
} from '../storage/copy.ts';
import type { Io } from './command.ts';
import { Progress, renderTable } from './terminal.ts';

/** One end of a copy: a file (`sqlite:PATH`) or a database (`postgres://…`). */
interface End {
  /** Its name in messages and in the marker of an unfinished copy, without a password. */
  name: string;
  openSource: () => Promise<CopySource>;
  openTarget: () => Promise<CopyTarget>;
}

/** Copies a whole catalogue from one store to another, then compares the two. */
export async function copy(args: string[], io: Io): Promise<number> {
  const { from, to } = parse(args);
  const [source, target] = [await parseEnd('--from', from), await parseEnd('--to', to)];
  if (source.name === target.name) {
    throw new UsageError(
      '--from and --to name the same catalogue: they must name two different ones.',
    );
  }
  const progress = new Progress(io.stderr);
  const reader = await source.openSource();
  try {
    const writer = await target.openTarget();
    try {
      const found = await copyCatalogue(reader, writer, {
        sourceName: source.name,
        onProgress(count, total) {
          progress.showBar({ count, share: total === 0 ? 1 : Math.min(1, count / total) });
        },
      });
      progress.clear();
      io.stdout.write(comparison(found));
      return 0;
    } finally {
      await writer.close();
    }
  } catch (error) {
    if (error instanceof StoreUnusable) throw error;
    progress.clear();
    io.stderr.write(`petstore: ${target.name}: ${reasonOf(error)}.\n`);
    return 1;
  } finally {
    await reader.close();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof CopyRefused) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return `the copy stopped (${reason}): run the same command again to continue`;
}

function parse(args: string[]): { from: string; to: string } {
  const options = { from: { type: 'string' }, to: { type: 'string' } } as const;
  const { from, to } = parseArguments({ args, options }).values;
  if (from !== undefined && to !== undefined) return { from, to };
  throw new UsageError(
    'copy needs --from and --to, each sqlite:FILE or postgres://user:password@host:port/database.',
  );
}

async function parseEnd(flag: string, text: string): Promise<End> {
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length) {
    const { openSqliteSource, openSqliteTarget } = await import('../storage/sqlite/copy.ts');
    const file = resolve(text.slice('sqlite:'.length));
    return {
      name: `sqlite:${file}`,
      openSource: async () => openSqliteSource(file),
      openTarget: async () => openSqliteTarget(file),
    };
  }
  if (/^postgres(?:ql)?:/.test(text)) {
    const { openPostgresSource, openPostgresTarget } = await import('../storage/postgres/copy.ts');
    const { parseAddress } = await import('../storage/postgres/address.ts');
    return {
      name: parseAddress(text).shown,
      openSource: () => openPostgresSource(text),
      openTarget: () => openPostgresTarget(text),
    };
  }
  throw new UsageError(
    `${flag} must be sqlite:FILE or postgres://user:password@host:port/database.`,
  );
}

function comparison({ source, target }: { source: Tallies; target: Tallies }): string {
  const rows = KINDS.map((kind) => [
    kind,
    String(source[kind].count),
    String(target[kind].count),
    source[kind].checksum,
    target[kind].checksum,
  ]);
  return renderTable([
    ['', 'SOURCE', 'TARGET', 'SHA-256 OF THE SOURCE', 'SHA-256 OF THE TARGET'],
    ...rows,
    ['last id', String(source.lastId), String(target.lastId)],
  ]);
}
